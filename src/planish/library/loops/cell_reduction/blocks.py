"""Reductions of cells by blocks: lanes find the block and the iteration that count, and only these change the cells.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> body = "k[] = select(x[i] < 0.0:f32, i32(i), k[])"
>>> kernel = parse_kernel("kernel f(n; x: f32[n], k: i32[]) { for i in 0 .. n { %s } }" % body)
>>> print(print_stmt(Block(tuple(in_blocks(find_update(kernel.body.body[0]), {"x", "k", "n", "i"})))), end="")
{
  for first in 0 .. n step 2048 {
    let end = min(n, first + 2048)
    alloc place: i32[] register
    place[] = -1:i32
    for i_lane in first .. end simd reduce(max: place) {
      place[] max= select(x[i_lane] < 0.0:f32, i32(i_lane - first), -1:i32)
    }
    if place[] > -1:i32 {
      k[] = i32(first + i64(place[]))
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from planish.core.names import take_name
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Select, Var, index, type_of
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, LoopFacts, Reduce, ReduceOp, Stmt
from planish.ir.traverse import loads, substitute
from planish.ir.types import I32, I64, INDEX, Type
from planish.library.loops.cell_reduction.cell_update import (
    LANES,
    Affine,
    CellUpdate,
    Location,
    Match,
    Unrolled,
    find_update,
    is_exact,
)

__all__ = ["BLOCK", "find_update", "in_blocks"]

BLOCK = 2048
"""The iterations of a block: what they read stays in the nearest cache until it is looked at again."""


def in_blocks(found: CellUpdate, taken: set[str], block: int = BLOCK) -> Iterator[Stmt]:
    """The statements that stand for a loop; names that are made are `taken` then. `block`: the iterations of one."""
    match found:
        case Location():
            yield _Blocks(found, taken, block).location(found)
        case Match() if found.is_of_any:
            yield from _any(found, taken)
        case Match():
            yield _Blocks(found, taken, block).match(found)
        case Affine():
            yield from _AffineLanes(found, taken).stmts()
        case Unrolled():
            yield _one_by_one(found)
        case _:
            assert_never(found)


def _one_by_one(found: Unrolled) -> Stmt:
    """A sum that was unrolled by hand, a term at a time."""
    loop = found.loop
    rounds = floordiv(add(sub(loop.upper, loop.lower), index(loop.step - 1)), index(loop.step))
    upper = add(loop.lower, mul(extremum("max", rounds, index(0)), index(loop.step)))
    facts = LoopFacts(simd=True, reductions=(("add", found.cell.array),))
    body = Block((Reduce(found.cell.array, (), "add", found.term),))
    return For(loop.var, loop.lower, upper, 1, body, facts, loop.span)


def _any(found: Match, taken: set[str]) -> Iterator[Stmt]:
    """Whether the condition holds of any iteration, no matter which. Answers are narrowed where the cell is narrow."""
    loop = found.loop
    asked = [*found.values.values(), *loads(found.condition)]
    type = I64 if all(type_of(x).size == 8 for x in asked) else I32
    there = Array(take_name("there", taken), type, memory="register")
    answer = Select(found.condition, Const(1, type), Const(0, type))
    facts = LoopFacts(simd=True, reductions=(("or", there.name),))
    yield Alloc(there)
    yield Assign(there.name, (), Const(0, type))
    yield replace(loop, body=Block((Reduce(there.name, (), "or", answer),)), facts=facts)
    changed = tuple(Assign(x, (), y) for x, y in found.values.items())
    yield If(Compare("ne", Load(there.name, (), type), Const(0, type)), Block(changed))


class _Blocks:
    """A loop on its way to blocks of iterations."""

    def __init__(self, found: Location | Match, taken: set[str], block: int) -> None:
        self.found, self.loop, self.taken, self.block = found, found.loop, taken, block
        self.first, self.end = take_name("first", taken), take_name("end", taken)
        self.place = Array(take_name("place", taken), I32, memory="register")

    def location(self, found: Location) -> Stmt:
        """The extremum of a block first; where it is beyond the cell, the first (or last) iteration that has it."""
        type, op = found.cell.type, ("max" if found.op in ("gt", "ge") else "min")
        best = Array(take_name("best", self.taken), type, memory="register")
        known, is_first = Load(best.name, (), type), found.op in ("gt", "lt")
        equal = Compare("eq", found.value, known)
        seek = self._seek("min" if is_first else "max", self.block if is_first else -1, equal)
        here = Load(self.place.name, (), I32)
        there = Compare("lt", here, _number(self.block)) if is_first else Compare("ge", here, _number(0))
        # A value may be rounded otherwise when it is computed again: then the block is gone through as it was written.
        otherwise = () if is_exact(found.value) else (self._plain(),)
        look = Block((*seek, If(there, self._changed(), Block(otherwise))))
        beyond = If(Compare(found.op, known, found.cell), look)
        over = self._over(best, "max" if op == "max" else "min", lambda i: substitute(found.value, {self.loop.var: i}))
        return self._blocks(Alloc(best), Assign(best.name, (), found.cell), over, beyond)

    def match(self, found: Match) -> Stmt:
        """The last iteration of a block of which the condition holds."""
        there = Compare("gt", Load(self.place.name, (), I32), _number(-1))
        return self._blocks(*self._seek("max", -1, found.condition), If(there, self._changed()))

    def _blocks(self, *body: Stmt) -> Stmt:
        end = Let(self.end, extremum("min", self.loop.upper, add(index(self.first), index(self.block))))
        return For(self.first, self.loop.lower, self.loop.upper, self.block, Block((end, *body)), span=self.loop.span)

    def _over(self, cell: Array, op: ReduceOp, value: object) -> For:
        assert callable(value)
        lane = take_name(f"{self.loop.var}_lane", self.taken)
        body = Block((Reduce(cell.name, (), op, value(index(lane))),))
        facts = LoopFacts(simd=True, reductions=((op, cell.name),))
        return For(lane, index(self.first), index(self.end), 1, body, facts, self.loop.span)

    def _seek(self, op: ReduceOp, none: int, condition: Expr) -> list[Stmt]:
        """The least or the greatest iteration of a block of which the condition holds; `none` where there is none."""

        def value(i: Expr) -> Expr:
            here = Cast(sub(i, index(self.first)), I32)
            return Select(substitute(condition, {self.loop.var: i}), here, _number(none))

        return [Alloc(self.place), Assign(self.place.name, (), _number(none)), self._over(self.place, op, value)]

    def _changed(self) -> Block:
        """The cells as the iteration that was found leaves them."""
        place = add(index(self.first), Cast(Load(self.place.name, (), I32), INDEX))
        values = {self.loop.var: place}
        return Block(tuple(Assign(x, (), substitute(y, values)) for x, y in self.found.values.items()))

    def _plain(self) -> Stmt:
        lane = take_name(self.loop.var, self.taken)
        body = tuple(substitute_stmt(x, self.loop.var, lane) for x in self._conditionals())
        return For(lane, index(self.first), index(self.end), 1, Block(body), span=self.loop.span)

    def _conditionals(self) -> list[Stmt]:
        assert isinstance(self.found, Location)
        test = Compare(self.found.op, self.found.value, self.found.cell)
        return [If(test, Block(tuple(Assign(x, (), y) for x, y in self.found.values.items())))]


def substitute_stmt(stmt: Stmt, var: str, name: str) -> Stmt:
    """A conditional of assignments with another iterator."""
    values = {var: index(name)}
    match stmt:
        case If(condition=condition, then=then):
            made = tuple(substitute_stmt(x, var, name) for x in then.body)
            return If(substitute(condition, values), Block(made))
        case Assign(array=array, index=at, value=value):
            return Assign(array, at, substitute(value, values), stmt.span)
        case _:
            return stmt


class _AffineLanes:
    """An affine recurrence on its way to lanes: lane l has every LANES-th term, each weighed by the factor's power.

    Powers may overflow where the original's values did not, so that integers are computed without signs."""

    def __init__(self, found: Affine, taken: set[str]) -> None:
        self.found, self.loop, self.taken = found, found.loop, taken
        self.own: Type = found.cell.type
        self.type: Type = self.own if self.own.is_float else Type("uint", max(32, self.own.bits))
        self.lanes = Array(take_name("lanes", taken), self.type, (index(LANES),), memory="stack")
        self.powers = [take_name("power", taken) for _ in range(LANES.bit_length())]
        self.whole = take_name("whole", taken)

    def stmts(self) -> Iterator[Stmt]:
        """Powers of the factor, whole blocks, the lanes as one value, and what is left."""
        lower, upper, found = self.loop.lower, self.loop.upper, self.found
        count = mul(floordiv(extremum("max", sub(upper, lower), index(0)), index(LANES)), index(LANES))
        yield Let(self.whole, add(lower, count))
        whole = [*self._powers(), Alloc(self.lanes), *self._blocks(), *self._join()]
        yield If(Compare("lt", lower, index(self.whole)), Block(tuple(whole)))
        next = Binary("add", Binary("mul", found.cell, found.factor), found.rest)
        update = Assign(found.cell.array, (), next)
        yield For(self.loop.var, index(self.whole), upper, 1, Block((update,)), span=self.loop.span)

    def _powers(self) -> Iterator[Stmt]:
        """The factor to the powers 1, 2, 4, … LANES."""
        value = self._unsigned(self.found.factor)
        for name in self.powers:
            yield Let(name, value)
            value = Binary("mul", Var(name, self.type), Var(name, self.type))

    def _blocks(self) -> Iterator[Stmt]:
        """The cell is what the last lane begins with, the others with nothing."""
        lane, block, zero = take_name("lane", self.taken), take_name("block", self.taken), self._constant(0)
        cleared = Assign(self.lanes.name, (index(lane),), zero)
        yield For(lane, index(0), index(LANES), 1, Block((cleared,)), LoopFacts(simd=True))
        yield Assign(self.lanes.name, (index(LANES - 1),), self._unsigned(self.found.cell))
        here = add(index(block), index(lane))
        rest = self._unsigned(substitute(self.found.rest, {self.loop.var: here}))
        value = Binary("add", Binary("mul", self._lane(index(lane)), Var(self.powers[-1], self.type)), rest)
        update = Assign(self.lanes.name, (index(lane),), value)
        inner = For(lane, index(0), index(LANES), 1, Block((update,)), LoopFacts(simd=True))
        yield For(block, self.loop.lower, index(self.whole), LANES, Block((inner,)), span=self.loop.span)

    def _join(self) -> Iterator[Stmt]:
        """Halves are added to each other, the former one as many powers ahead as a half has lanes."""
        for n in reversed(range(LANES.bit_length() - 1)):
            half, lane = 1 << n, take_name("lane", self.taken)
            weighed = Binary("mul", self._lane(index(lane)), Var(self.powers[n], self.type))
            value = Binary("add", weighed, self._lane(add(index(lane), index(half))))
            update = Assign(self.lanes.name, (index(lane),), value)
            yield For(lane, index(0), index(half), 1, Block((update,)), LoopFacts(simd=half > 2))
        last = self._lane(index(0))
        yield Assign(self.found.cell.array, (), last if self.own == self.type else Cast(last, self.own))

    def _unsigned(self, value: Expr) -> Expr:
        return value if self.own == self.type else Cast(value, self.type)

    def _lane(self, at: Expr) -> Expr:
        return Load(self.lanes.name, (at,), self.type)

    def _constant(self, value: int) -> Expr:
        return Const(float(value) if self.type.is_float else value, self.type)


def _number(value: int) -> Expr:
    return Const(value, I32)
