"""Recognises max-plus (or min-plus) recurrences: x[i] = max(own[i], x[i-1] - cost), as in sequence alignment or a
decaying peak.

Before: for j { x[j] = max(f(j), x[j - 1] - c) }

The cost is never below zero, so that a value counts less and less for those after it.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> loop = "for j in 1 .. n { x[j] = max(y[j], max(x[j - 1] - 2:i32, 0:i32)) }"
>>> found = find_chain(parse_kernel("kernel k(n; x: i32[n], y: i32[n]) { " + loop + " }").body.body[0])
>>> found.op, print_expr(found.own), print_expr(found.cost), print_expr(found.start)
('max', 'max(y[j], 0:i32)', '2:i32', 'x[j - 1]')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from math import inf
from typing import Literal

from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, Var, type_of
from planish.ir.index.interval import range_of
from planish.ir.index.polynomial import coefficient_of, constant, sub
from planish.ir.nest import Assign, For, Let, Reduce, Stmt
from planish.ir.passes.update_idioms import updated
from planish.ir.semantics.arithmetic import limits
from planish.ir.traverse import arrays_in, chained, loads, map_expr, substitute, variables, walk_expr
from planish.ir.types import F32, F64, INDEX, Type
from planish.schedule.auto.recurrence import is_ready
from planish.schedule.auto.rewrites.rematerialise import are_same, before

Extremum = Literal["max", "min"]
Cost = Const | Var
LARGEST = 200
"""The nodes of an expression that is still worth writing out where names stood."""


@dataclass(frozen=True, slots=True)
class Second:
    """A value that is made of a chain's in the same iteration: `target` = the chain's `op` of its `own` value and of
    the chain's target. The chain's own value is this one's of the iteration before, less a `cost` that is not the
    chain's; `begin` is the chain's value as it is written. What is stored `ahead` of it, or `behind` it, waits for
    nothing."""

    target: Load
    own: Expr
    cost: Cost
    begin: Expr
    ahead: tuple[Assign, ...]
    behind: tuple[Assign, ...]


@dataclass(frozen=True, slots=True)
class MaxPlusChain:
    """`target` = the `op` of its `own` value and of the target of the iteration before, less the least of some `costs`
    (for the least: and that cost). `start`: what the target of the iteration before is read from; where that is a cell
    that `keeps` it, it has the last value when the loop ends."""

    loop: For
    op: Extremum
    target: Load
    own: Expr
    costs: tuple[Cost, ...]
    start: Load
    keeps: bool = False
    second: Second | None = None

    @property
    def type(self) -> Type:
        """The type of the values: an integer's, or a float's where these cost nothing."""
        return self.target.type

    @property
    def cost(self) -> Expr:
        """The cost between a value and the next one."""
        known = [int(x.value) for x in self.costs if isinstance(x, Const)]
        others: list[Expr] = [x for x in self.costs if isinstance(x, Var)]
        least: list[Expr] = [Const(min(known), self.type)] if known else []
        return reduce(lambda a, b: Binary("min", a, b), [*others, *least])

    @property
    def worst(self) -> int | float:
        """The neutral element of the recurrence's maximum or minimum."""
        if self.type.is_float:
            return inf if self.op == "min" else -inf
        return limits(self.type)[self.op == "min"]

    @property
    def bound(self) -> int | float:
        """A bound on the own values, as far as their expression gives one."""
        return self.worst if self.type.is_float else range_of(self.own, {})[self.op == "min"]

    @property
    def may_wrap(self) -> bool:
        """Whether values that leave their type are defined: they come in again at the other end. Those of signed
        integers are not, in C."""
        return self.type.kind != "int" or self.type.bits < 32


def find_chain(stmt: Stmt, scalars: Collection[str] = ()) -> MaxPlusChain | None:
    """The chain that a loop is: of integers, or of floats without costs (a running extremum). Costs are constants or
    some `scalars`; None where it is none, or where anything else in it waits."""
    if not isinstance(stmt, For) or stmt.step != 1 or stmt.facts.simd or loads(stmt.lower) or loads(stmt.upper):
        return None
    match written_out(stmt):
        case [update]:
            return _along(stmt, update, scalars)
        case [update, copy] if isinstance(copy.value, Load):
            return _through_cell(stmt, update, copy, scalars)
        case _:
            return None


def written_out(loop: For) -> list[Assign] | None:
    """The assignments of a loop with values in place of their names; None where that is too much, where something else
    is there, or where a name stands for what was stored over since."""
    values: dict[str, Expr] = {}
    gone: set[str] = set()
    out: list[Assign] = []
    for x in loop.body.body:
        if not isinstance(x, Let | Assign | Reduce):
            return None
        value = substitute(updated(x) if isinstance(x, Reduce) else x.value, values)
        used = {*variables(value)}.union(*(variables(y) for y in (() if isinstance(x, Let) else x.index)))
        if used & gone or sum(1 for _ in walk_expr(value)) > LARGEST:
            return None
        if isinstance(x, Let):
            values[x.var] = value
            continue
        if any(variables(y) & {*values} for y in x.index):
            return None
        if out and not x.index and not out[-1].index and out[-1].array == x.array:
            # Of two updates of a cell in a row, the second one takes what the first one makes.
            value = _with_cell(value, out.pop())
        out.append(Assign(x.array, x.index, value, x.span))
        target = Load(x.array, x.index, type_of(value))
        late = {n for n, y in values.items() if any(z.array == x.array and not is_beside(z, target, loop.var)
                                                    for z in loads(y))}  # fmt: skip
        gone |= late
        values = {n: y for n, y in values.items() if n not in late}
    return out


def _with_cell(value: Expr, update: Assign) -> Expr:
    """A value in which a cell has what an update makes of it."""
    return map_expr(lambda x: update.value if isinstance(x, Load) and x.array == update.array else x, value)


def simultaneous(loop: For, own: Mapping[str, int]) -> list[Assign] | None:
    """The assignments of a loop's iteration as if all were made at once, of values that are there when it begins: what
    is kept in temporaries, which are cells or elements of arrays that nothing but the loop mentions, stands in their
    place. `own`: how often the kernel mentions its own arrays. None where that cannot be told.

    Before: t[i] = a[i];  a[i] = s;  s = s + t[i]
    After:  a[i] = s  and  s = s + a[i]
    """
    temporaries = {x for x, count in Counter(arrays_in(loop)).items() if own.get(x) == count}
    values: dict[Load, Expr] = {}

    def current(value: Expr) -> Expr | None:
        """A value in terms of what is there when the iteration begins; None where a store may have changed it."""
        stored = {x.array: x for x in values}
        for x in loads(value):
            later = x.array in stored and x != stored[x.array] and is_ready(x, stored[x.array], loop.var)
            if x.array in stored and not (later or (x in values and x.array in temporaries)):
                return None
        return map_expr(lambda x: values.get(x, x) if isinstance(x, Load) else x, value)

    for x in loop.body.body:
        if not isinstance(x, Assign | Reduce) or any(map(loads, x.index)):
            return None
        type = type_of(x.value)
        value = current(updated(x) if isinstance(x, Reduce) else x.value)
        target = Load(x.array, x.index, type)
        if value is None or any(y.array == x.array and y != target for y in values):
            return None
        if sum(1 for _ in walk_expr(value)) > LARGEST:
            return None
        values[target] = value
    if any(x.array in temporaries for y in values.values() for x in loads(y)):
        return None
    return [Assign(x.array, x.index, y) for x, y in values.items() if x.array not in temporaries]


def is_beside(load: Load, target: Load, var: str) -> bool:
    """Whether a load is from another row than the targets of a loop."""
    for x, y in zip(load.index, target.index, strict=True):
        distance, moved = constant(sub(x, y)), coefficient_of(y, var)
        if moved is not None and not moved[0] and distance:
            return True
    return False


def _along(loop: For, update: Assign, scalars: Collection[str]) -> MaxPlusChain | None:
    """A chain whose values are read where the iteration before left them."""
    target = target_of(update)
    return _chain(loop, target, _as_extremum(update.value), before(target, loop.var, 1), scalars, keeps=False)


def _as_extremum(value: Expr) -> Expr:
    """A choice of the greater or the lesser of two values as their extremum."""
    match value:
        case Select(condition=Compare(op="gt" | "lt" as op, left=a, right=b), then=x, otherwise=y) if (x, y) == (a, b):
            return Binary("max" if op == "gt" else "min", a, b)
        case _:
            return value


def _through_cell(loop: For, update: Assign, copy: Assign, scalars: Collection[str]) -> MaxPlusChain | None:
    """A chain that a cell goes through, which is copied to an element in each iteration."""
    cell, target = target_of(update), target_of(copy)
    if copy.value != cell or copy.array == cell.array or any(loop.var in variables(x) for x in cell.index):
        return None
    if any(loads(x) for x in cell.index):
        return None
    return _chain(loop, target, update.value, cell, scalars, keeps=True)


def _chain(
    loop: For, target: Load, value: Expr, start: Load, scalars: Collection[str], *, keeps: bool
) -> MaxPlusChain | None:
    """The chain of a target, where it is one along a row."""
    floats = target.type in (F32, F64)
    if not goes_along(target, loop.var, floats) or not isinstance(value, Binary) or value.op not in ("max", "min"):
        return None
    op: Extremum = "max" if value.op == "max" else "min"
    # NaNs among the values are left out; the one before the first stays, as what is compared with it is its left side.
    terms = [value.left, value.right] if floats else [*chained(value, op)]
    parts = [(x, cost_of(x, op, start, scalars)) for x in terms]
    costs, others = [x for _, x in parts if x is not None], [x for x, cost in parts if cost is None]
    if len(costs) != 1 or not others or (floats and parts[1][1] != Const(0.0, target.type)):
        return None
    neutral = [Const(inf if op == "min" else -inf, target.type)] if floats else []
    own = reduce(lambda a, b: Binary(op, a, b), [*others, *neutral])
    if any(_waits(x, target, start if keeps else None, loop.var) for x in loads(own)):
        return None
    return MaxPlusChain(loop, op, target, own, tuple(costs), start, keeps)


def target_of(stmt: Assign) -> Load:
    """The target of a statement."""
    return Load(stmt.array, stmt.index, type_of(stmt.value))


def goes_along(target: Load, var: str, floats: bool = False) -> bool:
    """Whether it is an integer, or is known to be one of the `floats`, and that of each iteration lies just behind that
    of the one before."""
    moved = [coefficient_of(x, var) for x in target.index]
    known = floats or (target.type.is_int and target.type != INDEX)
    if not known or not moved or any(map(loads, target.index)):
        return False
    return [x[0] for x in moved if x is not None] == [0] * (len(moved) - 1) + [1]


def _waits(load: Load, target: Load, cell: Load | None, var: str) -> bool:
    """Whether an earlier iteration of the loop may store what is loaded."""
    if cell is not None and load.array == cell.array:
        return True
    return load.array == target.array and not is_ready(load, target, var)


def cost_of(part: Expr, op: Extremum, start: Load, scalars: Collection[str]) -> Cost | None:
    """The cost that a term subtracts from the previous value (of a minimum: adds to it); None where it is no such
    term."""
    match part:
        case Load():
            return Const(0.0 if start.type.is_float else 0, start.type) if _is_start(part, start) else None
        case _ if start.type.is_float:
            return None
        case Binary(op="sub" | "add" as sign, left=Load() as x, right=Const() | Var() as cost) if _is_start(x, start):
            pass
        case Binary(op="add" as sign, left=Const() | Var() as cost, right=Load() as x) if _is_start(x, start):
            pass
        case _:
            return None
    grows = (sign == "sub") == (op == "max")
    if isinstance(cost, Var):
        return cost if grows and cost.name in scalars else None
    value = int(cost.value) if grows else -int(cost.value)
    return Const(value, start.type) if value >= 0 else None


def _is_start(load: Load, start: Load) -> bool:
    return load.array == start.array and len(load.index) == len(start.index) and are_same(load, start)
