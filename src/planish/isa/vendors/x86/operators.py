"""Operators of the pseudocode on values: of whole numbers without a width, of floats, and of what a variable holds.

>>> from planish.isa.semantics.node import const
>>> apply_binary("<<", SymbolicValue(const(3)), SymbolicValue(const(2)), Rounding()).node
const(12)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planish.isa.semantics import build
from planish.isa.semantics.node import FLOAT_BITS, Node, const, node
from planish.isa.vendors.symbolic_state import (
    NamedSymbol,
    RealNumber,
    SymbolChoice,
    SymbolicValue,
    Unreadable,
    float_bits,
)

CURRENT = const(4)
"""The way of rounding that the processor is set to: to nearest, ties to even. 0 to 3: to nearest, down, up, to zero."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """How an operation rounds: which way, and whether a product and a sum are rounded once."""

    mode: Node = CURRENT
    fused: bool = False


Operand = SymbolicValue | RealNumber | NamedSymbol | SymbolChoice


def as_float(x: Operand, kind: str) -> SymbolicValue:
    """An operand as a float of a format."""
    if isinstance(x, RealNumber):
        return SymbolicValue(const(float_bits(x.value, kind)), FLOAT_BITS[kind], kind)
    if not isinstance(x, SymbolicValue):
        raise Unreadable("a symbol among floats")
    if x.is_float:
        if x.kind != kind:
            raise Unreadable(f"{x.kind} meets {kind}")
        return x
    if x.node.constant == 0:
        return SymbolicValue(x.node, FLOAT_BITS[kind], kind)
    return SymbolicValue(build.wrap(x.node, FLOAT_BITS[kind]), FLOAT_BITS[kind], kind)


def make_float(op: str, kind: str, *args: Node, attr: tuple[int | str, ...] = ()) -> SymbolicValue:
    """The value of an operator that gives a float."""
    return SymbolicValue(node(op, args, (kind, *attr)), FLOAT_BITS[kind], kind)


def negate_float(x: SymbolicValue) -> SymbolicValue:
    """A float with the other sign."""
    sign = const(1 << (FLOAT_BITS[x.kind] - 1))
    product = (build.exclude(x.product[0], sign), x.product[1]) if x.product else None
    return SymbolicValue(build.exclude(x.node, sign), x.width, x.kind, x.element, product)


def apply_unary(op: str, x: Operand) -> SymbolicValue:
    """`-x`, `~x` or `!x`."""
    if not isinstance(x, SymbolicValue):
        raise Unreadable(f"`{op}` before a symbol")
    match op:
        case "-":
            return negate_float(x) if x.is_float else SymbolicValue(build.negate(x.node))
        case "~" if x.width == 1:
            return SymbolicValue(build.negation(x.node), 1)
        case "~":
            return SymbolicValue(build.invert(x.node), x.width)
        case _:
            return SymbolicValue(build.negation(build.truth(x.node)), 1)


def apply_binary(op: str, a: Operand, b: Operand, rounding: Rounding) -> SymbolicValue:
    """`a op b`; Unreadable where that has no meaning."""
    if isinstance(a, NamedSymbol) or isinstance(b, NamedSymbol):
        return _against_symbol(op, a, b)
    if isinstance(a, SymbolChoice) or isinstance(b, SymbolChoice):
        raise Unreadable("a symbol that is not known is used as a number")
    kind = next((x.kind for x in (a, b) if isinstance(x, SymbolicValue) and x.is_float), "")
    if isinstance(a, RealNumber) and isinstance(b, RealNumber):
        raise Unreadable("arithmetic on constants")
    if kind and op in _FLOAT:
        return _FLOAT[op](as_float(a, kind), as_float(b, kind), rounding)
    if not isinstance(a, SymbolicValue) or not isinstance(b, SymbolicValue):
        raise Unreadable(f"`{op}` between a whole number and one with a point")
    if op not in _WHOLE:
        raise Unreadable(f"`{op}` is not known")
    return _WHOLE[op](a, b)


def _against_symbol(op: str, a: Operand, b: Operand) -> SymbolicValue:
    value, symbol = (b, a) if isinstance(a, NamedSymbol) else (a, b)
    if isinstance(symbol, NamedSymbol) and isinstance(value, SymbolicValue) and value.is_float:
        if symbol.name.upper() == "NAN" and op in ("==", "!="):
            found = node("funord", (value.node, value.node), (value.kind,))
            return SymbolicValue(found if op == "==" else build.negation(found), 1)
    raise Unreadable(f"`{op}` with `{symbol.name if isinstance(symbol, NamedSymbol) else '?'}`")


def _wide(a: SymbolicValue, b: SymbolicValue) -> int | None:
    return max(a.width, b.width) if a.width and b.width else None


def _shift(a: SymbolicValue, b: SymbolicValue, left: bool) -> SymbolicValue:
    by = b.node if b.node.low >= 0 else build.wrap(b.node, b.width or 64)
    return SymbolicValue((build.shift_left if left else build.shift_right)(a.node, by), None, element=a.element)


def _rotate(a: SymbolicValue, b: SymbolicValue, left: bool) -> SymbolicValue:
    if not a.width:
        raise Unreadable("something without a width is rotated")
    by = build.wrap(b.node, (a.width - 1).bit_length()) if a.width & (a.width - 1) == 0 else b.node
    plain = build.wrap(a.node, a.width)
    back = build.wrap(build.subtract(const(a.width), by), (a.width - 1).bit_length())
    ahead, behind = (by, back) if left else (back, by)
    shifted = build.disjoin(build.shift_left(plain, ahead), build.shift_right(plain, behind))
    return SymbolicValue(build.wrap(shifted, a.width), a.width)


def _truths(a: SymbolicValue, b: SymbolicValue, op: Callable[[Node, Node], Node]) -> SymbolicValue:
    return SymbolicValue(op(a.node, b.node), _wide(a, b))


_WHOLE: dict[str, Callable[[SymbolicValue, SymbolicValue], SymbolicValue]] = {
    "+": lambda a, b: SymbolicValue(build.add(a.node, b.node)),
    "-": lambda a, b: SymbolicValue(build.subtract(a.node, b.node)),
    "*": lambda a, b: SymbolicValue(build.multiply(a.node, b.node)),
    "/": lambda a, b: SymbolicValue(build.quotient(a.node, b.node)),
    "%": lambda a, b: SymbolicValue(build.modulo(a.node, b.node)),
    "<<": lambda a, b: _shift(a, b, True),
    ">>": lambda a, b: _shift(a, b, False),
    "<<<": lambda a, b: _rotate(a, b, True),
    ">>>": lambda a, b: _rotate(a, b, False),
    "AND": lambda a, b: _truths(a, b, build.conjoin),
    "&": lambda a, b: _truths(a, b, build.conjoin),
    "OR": lambda a, b: _truths(a, b, build.disjoin),
    "|": lambda a, b: _truths(a, b, build.disjoin),
    "XOR": lambda a, b: _truths(a, b, build.exclude),
    "^": lambda a, b: _truths(a, b, build.exclude),
    "==": lambda a, b: SymbolicValue(build.equal(a.node, b.node), 1),
    "!=": lambda a, b: SymbolicValue(build.negation(build.equal(a.node, b.node)), 1),
    "<": lambda a, b: SymbolicValue(build.less(a.node, b.node), 1),
    "<=": lambda a, b: SymbolicValue(build.at_most(a.node, b.node), 1),
    ">": lambda a, b: SymbolicValue(build.less(b.node, a.node), 1),
    ">=": lambda a, b: SymbolicValue(build.at_most(b.node, a.node), 1),
}


def _sum(a: SymbolicValue, b: SymbolicValue, rounding: Rounding) -> SymbolicValue:
    if rounding.fused and a.product:
        return make_float("fma", a.kind, *a.product, b.node, rounding.mode)
    if rounding.fused and b.product:
        return make_float("fma", b.kind, *b.product, a.node, rounding.mode)
    return make_float("fadd", a.kind, a.node, b.node, rounding.mode)


def _difference(a: SymbolicValue, b: SymbolicValue, rounding: Rounding) -> SymbolicValue:
    if rounding.fused and (a.product or b.product):
        return _sum(a, negate_float(b), rounding)
    return make_float("fsub", a.kind, a.node, b.node, rounding.mode)


def _product(a: SymbolicValue, b: SymbolicValue, rounding: Rounding) -> SymbolicValue:
    plain = make_float("fmul", a.kind, a.node, b.node, rounding.mode)
    return SymbolicValue(plain.node, plain.width, a.kind, product=(a.node, b.node)) if rounding.fused else plain


def compare(op: str, a: SymbolicValue, b: SymbolicValue, kind: str) -> Node:
    """A comparison of floats."""
    return node(op, (a.node, b.node), (kind,))


_FLOAT: dict[str, Callable[[SymbolicValue, SymbolicValue, Rounding], SymbolicValue]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": lambda a, b, r: make_float("fdiv", a.kind, a.node, b.node, r.mode),
    "==": lambda a, b, _: SymbolicValue(compare("feq", a, b, a.kind), 1),
    "!=": lambda a, b, _: SymbolicValue(build.negation(compare("feq", a, b, a.kind)), 1),
    "<": lambda a, b, _: SymbolicValue(compare("flt", a, b, a.kind), 1),
    "<=": lambda a, b, _: SymbolicValue(compare("fle", a, b, a.kind), 1),
    ">": lambda a, b, _: SymbolicValue(compare("flt", b, a, a.kind), 1),
    ">=": lambda a, b, _: SymbolicValue(compare("fle", b, a, a.kind), 1),
}


def apply_symbol(symbol: NamedSymbol, a: Operand, b: Operand) -> SymbolicValue:
    """What an operator that a variable holds gives; `_CMP_…` and `_MM_CMPINT_…` are known."""
    if not isinstance(a, SymbolicValue) or not isinstance(b, SymbolicValue):
        raise Unreadable("a comparison of symbols")
    name = symbol.name.upper()
    if name.startswith("_MM_CMPINT_"):
        return _compared_whole(name.removeprefix("_MM_CMPINT_"), a, b)
    if name.startswith("_CMP_"):
        relation, quiet = name.removeprefix("_CMP_").split("_")
        return _compared_floats(relation, quiet.startswith("U"), a, b)
    raise Unreadable(f"`{symbol.name}` is no operator")


def _compared_whole(relation: str, a: SymbolicValue, b: SymbolicValue) -> SymbolicValue:
    match relation:
        case "FALSE" | "TRUE":
            return SymbolicValue(const(int(relation == "TRUE")), 1)
        case "NLT" | "NLE":
            return SymbolicValue(build.negation(_WHOLE[{"NLT": "<", "NLE": "<="}[relation]](a, b).node), 1)
        case _:
            return _WHOLE[{"EQ": "==", "LT": "<", "LE": "<=", "NE": "!="}[relation]](a, b)


def _compared_floats(relation: str, unordered: bool, a: SymbolicValue, b: SymbolicValue) -> SymbolicValue:
    kind = a.kind if a.is_float else b.kind
    a, b = as_float(a, kind), as_float(b, kind)
    apart = node("funord", (a.node, b.node), (kind,))
    equal = compare("feq", a, b, kind)
    match relation:
        case "FALSE" | "TRUE":
            return SymbolicValue(const(int(relation == "TRUE")), 1)
        case "UNORD" | "ORD":
            return SymbolicValue(apart if relation == "UNORD" else build.negation(apart), 1)
        case "EQ":
            return SymbolicValue(build.disjoin(equal, apart) if unordered else equal, 1)
        case "NEQ":
            differs = build.negation(equal)
            return SymbolicValue(differs if unordered else build.conjoin(differs, build.negation(apart)), 1)
    found = {
        "LT": lambda: compare("flt", a, b, kind), "LE": lambda: compare("fle", a, b, kind),
        "GT": lambda: compare("flt", b, a, kind), "GE": lambda: compare("fle", b, a, kind),
        "NLT": lambda: build.negation(compare("flt", a, b, kind)),
        "NLE": lambda: build.negation(compare("fle", a, b, kind)),
        "NGT": lambda: build.negation(compare("flt", b, a, kind)),
        "NGE": lambda: build.negation(compare("fle", b, a, kind)),
    }  # fmt: skip
    return SymbolicValue(found[relation](), 1)
