"""What a function asserts of its parameters, in a kernel: assumptions about sizes, and narrower types of numbers.

Before: if (gain < 0 || gain > 255) return;  for i { y[i] = x[i] * gain >> 8 }
After:  for i { y[i] = x[i] * i32(u8(gain)) >> 8 }    under the condition gain >= 0 && gain <= 255

>>> from planish.ir.types import I32
>>> number_conditions({"gain": (0, 255)}, {"gain": I32}, {"gain": "gain"})
('gain >= 0', 'gain <= 255')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pycparser import c_ast

from planish.frontend.c.analysis.assertions import find_assertions
from planish.frontend.c.analysis.scope import BoundNames, Symbol, written
from planish.frontend.c.translate.expressions import condition_of
from planish.frontend.c.translate.state import Again, CTranslation, NotIndex, Refused
from planish.frontend.c.types.constants import walk_tree
from planish.ir.conditional_accesses import opposite
from planish.ir.expr import Compare, Expr, type_of
from planish.ir.index.interval import Interval
from planish.ir.semantics.arithmetic import limits
from planish.ir.traverse import variables
from planish.ir.types import INDEX, Type

Assertion = tuple[c_ast.Node, bool]
"""A condition, and whether it holds or does not."""


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
        condition = condition if holds else opposite(condition)
        if isinstance(condition, Compare) and type_of(condition.left) == INDEX:
            out[condition] = None
    return tuple(out)


def known_sizes(facts: Iterable[Expr], sizes: Iterable[str]) -> tuple[Expr, ...]:
    """The facts about some sizes alone."""
    own = frozenset(sizes)
    return tuple(x for x in facts if variables(x) and variables(x) <= own)


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
