"""What a function asserts of its parameters, in a kernel: assumptions about sizes, and narrower types of numbers.

Before: if (gain < 0 || gain > 255) return;  for i { y[i] = x[i] * gain >> 8 }
After:  for i { y[i] = x[i] * i32(u8(gain)) >> 8 }    under the condition gain >= 0 && gain <= 255

>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.types import I32
>>> facts = [parse_expr("gain >= 0"), parse_expr("255 >= gain"), parse_expr("n < 9")]
>>> number_ranges(facts, {"gain": I32})
{'gain': (0, 255)}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pycparser import c_ast

from planish.frontend.c.analysis.assertions import find_assertions
from planish.frontend.c.analysis.scope import BoundNames, Symbol, written
from planish.frontend.c.translate.arithmetic import negation
from planish.frontend.c.translate.expressions import condition_of
from planish.frontend.c.translate.state import Again, CTranslation, NotIndex, Refused
from planish.frontend.c.types.constants import walk_tree
from planish.ir.expr import Cast, Compare, CompareOp, Const, Expr, Var, type_of
from planish.ir.index.interval import Interval
from planish.ir.nest import Block
from planish.ir.semantics.arithmetic import limits
from planish.ir.traverse import map_block, map_expr, map_exprs, variables
from planish.ir.types import I8, I16, INDEX, U8, U16, Type

Assertion = tuple[c_ast.Node, bool]
"""A condition, and whether it holds or does not."""
_NARROW: tuple[Type, ...] = (U8, I8, U16, I16)
_MIRRORED: Mapping[CompareOp, CompareOp] = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def lasting_assertions(bound: BoundNames) -> tuple[Assertion, ...]:
    """What a function asserts of parameters that keep their values in all of it."""
    changed = written(bound.function.body, bound)
    found = find_assertions(bound.function.body)
    return tuple((x, holds) for x, holds in found if all(_lasts(y, bound, changed) for y in walk_tree(x)))


def _lasts(node: c_ast.Node, bound: BoundNames, changed: Iterable[Symbol]) -> bool:
    match node:
        case c_ast.ID() if id(node) not in bound.constants:
            symbol = bound.symbol(node)
            return symbol is not None and symbol.storage == "parameter" and not (
                symbol in changed or symbol.address_taken
            )  # fmt: skip
        case c_ast.FuncCall() | c_ast.ArrayRef() | c_ast.StructRef() | c_ast.Assignment():
            return False
        case c_ast.UnaryOp(op=op):
            return op in ("-", "+", "!", "sizeof")
        case _:
            return True


def read_assertions(assertions: Iterable[Assertion], cx: CTranslation) -> tuple[Expr, ...]:
    """Those that compare integers, where a region begins."""
    out: dict[Expr, None] = {}
    for node, holds in assertions:
        with cx.trial():
            try:
                condition = condition_of(node, cx)
            except (Refused, NotIndex, Again):
                continue
        condition = condition if holds else negation(condition)
        if isinstance(condition, Compare) and type_of(condition.left) == INDEX:
            out[condition] = None
    return tuple(out)


def known_sizes(facts: Iterable[Expr], sizes: Iterable[str]) -> tuple[Expr, ...]:
    """The facts about some sizes alone."""
    own = frozenset(sizes)
    return tuple(x for x in facts if variables(x) and variables(x) <= own)


def number_ranges(facts: Iterable[Expr], types: Mapping[str, Type]) -> dict[str, Interval]:
    """Between which values numbers are, of those for which a narrower type has room for these."""
    out: dict[str, Interval] = {}
    for fact in facts:
        match fact:
            case Compare(op=asked, left=Var(name=name), right=Const(value=value)) if name in types:
                op = asked
            case Compare(op=asked, left=Const(value=value), right=Var(name=name)) if name in types:
                op = _MIRRORED.get(asked, asked)
            case _:
                continue
        low, high = out.get(name, limits(types[name]))
        number = int(value)
        low = max(low, {"ge": number, "gt": number + 1, "eq": number}.get(op, low))
        high = min(high, {"le": number, "lt": number - 1, "eq": number}.get(op, high))
        if low <= high:
            out[name] = low, high
    return {x: y for x, y in out.items() if (kind := _type_of(y)) is not None and kind.bits < types[x].bits}


def _type_of(range: Interval) -> Type | None:
    """The narrowest type for some numbers."""
    ends = ((x, limits(x)) for x in _NARROW)
    return next((x for x, (low, high) in ends if low <= range[0] and range[1] <= high), None)


def narrow_numbers(body: Block, ranges: Mapping[str, Interval], types: Mapping[str, Type]) -> Block:
    """A nest that reads some numbers in types that hold no more than these may be."""

    def narrowed(x: Expr) -> Expr:
        if isinstance(x, Var) and x.name in ranges and x.type == types[x.name]:
            kind = _type_of(ranges[x.name])
            assert kind is not None
            return Cast(Cast(x, kind), x.type)
        return x

    return map_block(lambda s: map_exprs(lambda e: map_expr(narrowed, e), s), body) if ranges else body


def number_conditions(
    ranges: Mapping[str, Interval], types: Mapping[str, Type], names: Mapping[str, str]
) -> tuple[str, ...]:
    """C conditions that numbers are in their ranges, but for what their types say; `names`: those in C."""
    out: list[str] = []
    for name, (low, high) in ranges.items():
        least, most = limits(types[name])
        out += [f"{names[name]} >= {low}"] if low > least else []
        out += [f"{names[name]} <= {high}"] if high < most else []
    return tuple(out)
