"""Ranges of integers that are computed from data, behind statements that set the cells in them.

>>> from planish.ir.text.parser import parse_expr, parse_kernel
>>> text = "alloc k: i32[] k[] = i32(x[i]) k[] = select(k[] < 0:i32, 0:i32, k[])"
>>> loop = parse_kernel("kernel k(n; x: i16[n]) { for i in 0 .. n { %s } }" % text).body.body[0]
>>> range_behind(parse_expr("k[]:i32"), loop.body.body)
(0, 32767)
"""

from __future__ import annotations

from collections.abc import Sequence

from planish.ir.expr import Expr, Load
from planish.ir.index.interval import Interval, range_of
from planish.ir.nest import Assign, Reduce, Stmt
from planish.ir.passes.update_idioms import updated
from planish.ir.traverse import loads, map_expr, stored_arrays, walk
from planish.ir.types import BOOL

_LONGEST = 64
"""So many statements are looked at behind each other."""


def range_behind(value: Expr, before: Sequence[Stmt]) -> Interval:
    """The range of an integer behind statements of its block: cells in it have what these set them to, and conditions
    in it that are cells hold what they were set to."""
    before = before[-_LONGEST:]
    tests = {x: y for x in _cells(value) if x.type == BOOL and (y := _condition(x, before)) is not None}
    if tests:
        value = map_expr(lambda x: tests.get(x, x) if isinstance(x, Load) else x, value)
    bounds: dict[Expr, Interval] = {}
    for cell in _cells(value):
        place = _set_last(cell, before)
        stmt = before[place] if place >= 0 else None
        if cell.type.is_int and isinstance(stmt, Assign | Reduce):
            made = stmt.value if isinstance(stmt, Assign) else updated(stmt)
            bounds[cell] = range_behind(made, before[:place])
    return range_of(value, {}, bounds=bounds)


def _cells(value: Expr) -> set[Load]:
    return {x for x in loads(value) if not x.index}


def _set_last(cell: Load, before: Sequence[Stmt]) -> int:
    """The last statement that may set a cell; -1 where none does."""
    return max((n for n, x in enumerate(before) if cell.array in stored_arrays(x)), default=-1)


def _condition(test: Load, before: Sequence[Stmt]) -> Expr | None:
    """The condition that a cell holds, where all that this reads is still as it was."""
    place = _set_last(test, before)
    stmt = before[place] if place >= 0 else None
    if not isinstance(stmt, Assign) or test in loads(stmt.value):
        return None
    read = {x.array for x in loads(stmt.value)}
    stored = {x.array for y in before[place + 1 :] for x in walk(y) if isinstance(x, Assign | Reduce)}
    return None if read & stored else stmt.value
