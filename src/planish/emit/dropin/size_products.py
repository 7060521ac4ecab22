"""Products of sizes in conditions: whether they are numbers that 64 bits hold is asked before anything is concluded.

>>> from planish.ir.expr import Binary
>>> c, w = Var("c", INDEX), Var("w", INDEX)
>>> fits = (Compare("ge", Binary("mul", c, w), index(0)),)
>>> product_guards(fits, {"c": "c", "w": "w"}, {}, {})
['planish_product((int64_t)c, (int64_t)w) != INT64_MIN']
>>> product_guards(fits, {"c": "c", "w": "w"}, {}, {"c": "int", "w": "unsigned char"})
[]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planish.emit.dropin.patched_file import emit_guard
from planish.ir.expr import Compare, Const, Expr, Var, index, type_of
from planish.ir.index.polynomial import Monomial, place, polynomial
from planish.ir.traverse import children, loads, variables
from planish.ir.types import INDEX

_BITS = {
    "int": 31, "int32_t": 31, "unsigned int": 32, "uint32_t": 32, "short": 15, "int16_t": 15, "unsigned short": 16,
    "uint16_t": 16, "signed char": 7, "int8_t": 7, "unsigned char": 8, "uint8_t": 8,
}  # fmt: skip
"""How many bits the numbers of a type take, without the sign."""
_HELD = 62
"""A product of so many bits, and one half of the numbers beside it, are numbers of 64 bits."""


def product_guards(
    asked: Iterable[Expr], names: Mapping[str, str], products: Mapping[str, Expr], declared: Mapping[str, str]
) -> list[str]:
    """Conditions, in C, that the products of several sizes in what is asked of them are no larger than any size may be;
    none of those whose types say so. `names`: as of `emit_guard`; `products`: sizes that are products of others;
    `declared`: the types of sizes in C."""
    most = dict[Monomial, int]()
    for expr in asked:
        for monomial, times in _products(expr, products):
            most[monomial] = max(most.get(monomial, 1), abs(times))
    large = {m: times for m, times in most.items() if _bits(m, declared) + times.bit_length() - 1 > _HELD}
    guards = list[str]()
    for monomial, times in sorted(large.items(), key=lambda x: -len(x[0])):
        first, *others = monomial if times == 1 else (*monomial, index(times))
        text = emit_guard(first, names)
        for x in others:
            text = f"planish_product({text}, {emit_guard(x, names)})"
        # What a longer product begins with is asked there.
        if not any(text in x for x in guards):
            guards.append(text)
    return [f"{x} != INT64_MIN" for x in guards]


def _products(expr: Expr, products: Mapping[str, Expr]) -> Iterable[tuple[Monomial, int]]:
    """The products of several sizes that an expression has, and how many times."""
    if isinstance(expr, Compare) or type_of(expr) != INDEX:
        for x in children(expr):
            yield from _products(x, products)
        return
    for monomial, times in polynomial(place(expr, products)).items():
        if len(monomial) > 1 and not any(loads(x) for x in monomial):
            yield monomial, times
        for x in monomial:
            if not isinstance(x, Var | Const):
                for y in children(x):
                    yield from _products(y, products)


def _bits(monomial: Monomial, declared: Mapping[str, str]) -> int:
    return sum(_BITS.get(declared.get(x.name, ""), 64) if isinstance(x, Var) else 64 for x in monomial)


def has_product(expr: Expr, products: Mapping[str, Expr]) -> bool:
    """Whether an expression has a size that is a product of others."""
    return not variables(expr).isdisjoint(products)

