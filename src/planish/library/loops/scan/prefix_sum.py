"""Recognises prefix sums: a running sum along a row, or in a scalar that each iteration stores.

Before: for j { x[j] = a * x[j - 1] + f(j) }        or   for j { s += f(j);  y[j] = g(s) }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr, print_stmt
>>> loop = "for j in 0 .. n { y[j] = s[] s[] += x[j] }"
>>> kernel = parse_kernel("kernel k(n; s: i32[], x: i32[n], y: i32[n]) { " + loop + " }")
>>> found = find_sum(kernel.body.body[0], ())
>>> print_expr(found.rest), print_stmt(found.put).strip(), found.is_late, found.keeps
('x[j]', 'y[j] = s[]', True, True)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from planish.ir.expr import Cast, Const, Expr, Load, type_of
from planish.ir.index.polynomial import coefficient_of
from planish.ir.nest import Assign, For, Stmt
from planish.ir.traverse import loads, variables
from planish.ir.types import F32, F64, I32, INDEX, U32, Type
from planish.library.loops.scan.max_plus import goes_along, simultaneous, target_of, written_out
from planish.schedule.auto.lower import place_expr
from planish.schedule.auto.recurrence import find_recurrence, is_ready, linear
from planish.schedule.auto.rewrites.rematerialise import are_same, before

_NONE: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class RunningSum:
    """A value is `factor` times the one of the iteration before, plus `rest`. `put` stores what is made of it, in which
    `cell` stands for it: as it is then, or as the iteration before has left it (`is_late`). `start`: what the value
    before the first one is read from; where that is a cell that the loop `keeps`, it has the last value when the loop
    ends."""

    loop: For
    cell: Load
    factor: Expr
    rest: Expr
    put: Assign
    start: Load
    is_late: bool = False
    keeps: bool = False

    @property
    def target(self) -> Load:
        """The element that each iteration stores."""
        return Load(self.put.array, self.put.index, self.cell.type)

    @property
    def type(self) -> Type:
        """The type in which sums are made: those of words without a sign wrap around as those with one do."""
        return I32 if self.cell.type == U32 else self.cell.type

    def begin(self) -> Expr:
        """The value before the first one, in that type."""
        return in_type(self.type, place_expr(self.start, {self.loop.var: self.loop.lower}))

    @property
    def is_plain(self) -> bool:
        """Whether nothing is lost from one value to the next one."""
        return self.factor == one(self.cell.type)


def in_type(type: Type, value: Expr) -> Expr:
    """A value in a type."""
    return value if type_of(value) == type else Cast(value, type)


def one(type: Type) -> Const:
    """The number one of a type."""
    return Const(1.0 if type.is_float else 1, type)


def zero(type: Type) -> Const:
    """The number zero of a type."""
    return Const(0.0 if type.is_float else 0, type)


def find_sum(stmt: Stmt, scalars: Collection[str], own: Mapping[str, int] = _NONE) -> RunningSum | None:
    """The sum that a loop is, whose factor is made of numbers and some `scalars`; of integers, it is 1. None where it
    is none, or where anything else in it waits. `own`: how often the kernel mentions arrays of its own."""
    if not isinstance(stmt, For) or stmt.step != 1 or stmt.facts.simd or loads(stmt.lower) or loads(stmt.upper):
        return None
    found = _of_floats(stmt)
    match written_out(stmt) if found is None else None:
        case [update]:
            found = _along(stmt, update)
        case [first, second] if not first.index and first.array in {x.array for x in loads(second.value)}:
            found = _through_cell(stmt, first, second, is_late=False)
        case [first, second] if not second.index:
            found = _through_cell(stmt, second, first, is_late=True)
        case _:
            pass
    if found is None:
        found = _at_once(stmt, own)
    if found is None or loads(found.factor) or not variables(found.factor) <= {*scalars}:
        return None
    type = found.cell.type
    return found if type in (F32, F64) or (type.is_int and type != INDEX and found.is_plain) else None


def _of_floats(loop: For) -> RunningSum | None:
    """The sum along a row, of floats."""
    found = find_recurrence(loop)
    if found is None or len(found.factors) > 1:
        return None
    put = Assign(found.target.array, found.target.index, found.target)
    return RunningSum(loop, found.target, found.factors[0], found.rest, put, before(found.target, loop.var, 1))


def _along(loop: For, update: Assign) -> RunningSum | None:
    """The sum along a row, of integers."""
    target = target_of(update)
    if not goes_along(target, loop.var):
        return None
    start = before(target, loop.var, 1)
    cell = next((x for x in loads(update.value) if x.array == target.array and are_same(x, start)), None)
    parts = linear(update.value, cell) if cell is not None else None
    if parts is None or parts[0] is None:
        return None
    rest = zero(target.type) if parts[1] is None else parts[1]
    if any(x.array == target.array and not is_ready(x, target, loop.var) for x in loads(rest)):
        return None
    return RunningSum(loop, target, parts[0], rest, Assign(target.array, target.index, target), start)


def _at_once(loop: For, own: Mapping[str, int]) -> RunningSum | None:
    """The sum in a cell that grows by elements which are stored over: by what these were before the loop."""
    made = simultaneous(loop, own)
    if made is None or len(made) != 2:
        return None
    update, put = sorted(made, key=lambda x: len(x.index) > 0)
    return None if update.index else _through_cell(loop, update, put, is_late=True, before_stores=True)


def _through_cell(
    loop: For, update: Assign, put: Assign, *, is_late: bool, before_stores: bool = False
) -> RunningSum | None:
    """The sum in a cell, of which each iteration stores something; `before_stores`: what it adds is read before."""
    cell, target = target_of(update), target_of(put)
    parts = linear(update.value, cell)
    if parts is None or parts[0] is None or put.array == cell.array or cell not in loads(put.value):
        return None
    rest = zero(cell.type) if parts[1] is None else parts[1]
    moved = [coefficient_of(x, loop.var) for x in put.index]
    if not moved or [x and x[0] for x in moved] != [0] * (len(moved) - 1) + [1] or any(map(loads, put.index)):
        return None
    # What comes behind the store would read what it has stored.
    others = [x for x in loads(rest) if x.array in (put.array, cell.array)]
    behind = is_late and not before_stores
    if any(x.array == cell.array or behind or not is_ready(x, target, loop.var) for x in others):
        return None
    # What is stored is read in the iteration that stores it, or not at all.
    own = [x for x in loads(put.value) if x.array == put.array]
    if any(not are_same(x, target) for x in own) or any(x.array == cell.array and x != cell for x in loads(put.value)):
        return None
    return RunningSum(loop, cell, parts[0], rest, put, cell, is_late, keeps=True)
