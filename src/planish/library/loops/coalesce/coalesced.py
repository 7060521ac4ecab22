"""Kernels whose rows of few columns run as one loop, a block of whole rows and whole vectors at a time.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = '''kernel k(n; A: i8[?], b: i8[?]) {
...   for i in 0 .. n { for c in 0 .. 8 { A[8 * i + c] += i8(i32(b[c])) } } }'''
>>> made = coalesce(parse_kernel(text), 512)
>>> print(print_stmt(made.kernel.body.body[0]).partition(" else")[0])
if n >= 32 {
  alloc b_each: i8[64] distinct stack
  for c_copy in 0 .. 8 {
    for c in 0 .. 8 simd {
      b_each[8 * c_copy + c] = i8(i32(b[c]))
    }
  }
  for i_block in 0 .. n // 8 {
    for c_each in 0 .. 64 simd {
      let A_1 = A[64 * i_block + c_each]
      let A_2 = A_1 + b_each[c_each]
      A[64 * i_block + c_each] = A_2
    }
  }
  for c_each in 0 .. 8 * (n % 8) simd {
    let A_1 = A[64 * (n // 8) + c_each]
    let A_2 = A_1 + b_each[c_each]
    A[64 * (n // 8) + c_each] = A_2
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import gcd

from planish.core.names import take_name
from planish.core.span import Span
from planish.ir.expr import Binary, Compare, Const, Expr, Var, index
from planish.ir.index.polynomial import add, mul, show
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, LoopFacts, Stmt
from planish.ir.traverse import blocks_of, map_block, substitute, substitute_block, with_stmts
from planish.ir.types import INDEX
from planish.library.loops.coalesce.flat_loops import FlatLoop, find_flat_loops, with_flat_rows
from planish.library.loops.coalesce.replicated_operands import NotFlat, Replication, replicate
from planish.schedule.accesses import arrays_of

MOST_BYTES = 8192
"""The most bytes of the copies of an operand."""
_BLOCKS = 4
"""For fewer blocks, copies are no gain."""
_LANES = LoopFacts(simd=True)


@dataclass(frozen=True, slots=True, eq=False)
class Coalesced:
    """A kernel with coalesced loops; the places of these, and what is said of each."""

    kernel: Kernel
    said: tuple[tuple[str, Span | None], ...]


def coalesce(kernel: Kernel, bits: int) -> Coalesced | None:
    """The kernel with its loops over rows of few columns as flat ones, in blocks of whole vectors of so many bits; None
    where there are none, or nests besides them that would stay in the order in which they are written."""
    flat = with_flat_rows(kernel)
    arrays = arrays_of(flat)
    body, gone, taken = flat.body, set[str](), list[For]()
    said: list[tuple[str, Span | None]] = []
    for loop, made in _replications(flat):
        lanes = bits // min(arrays[x].type.bits for x in loop.written)
        if lanes < 2 or not (made.operands or (loop.row and isinstance(loop.period, Const))):
            continue
        body = with_stmts(body, loop.stmt, _Blocks(loop, made, lanes).statements())
        taken.append(loop.stmt)
        gone |= loop.own
        copied = "with copies of what recurs in each, " if made.operands else ""
        said.append((f"rows of {show(loop.period)} columns as one loop, {copied}{lanes} lanes", loop.stmt.span))
    if not said or any(_has_nest(x, taken) for x in flat.body.body):
        return None
    body = map_block(lambda x: () if isinstance(x, Alloc) and x.array.name in gone else x, body)
    return Coalesced(replace(flat, body=simplify_block(body, assumptions=flat.assumptions)), tuple(said))


def _has_nest(stmt: Stmt, taken: Sequence[For]) -> bool:
    """Whether there is a loop in a loop that is no part of those that are taken."""
    if any(stmt is x for x in taken):
        return False
    inner = [x for block in blocks_of(stmt) for x in block.body]
    if isinstance(stmt, For) and any(_has_loop(x, taken) for x in inner):
        return True
    return any(_has_nest(x, taken) for x in inner)


def _has_loop(stmt: Stmt, taken: Sequence[For]) -> bool:
    if any(stmt is x for x in taken):
        return False
    return isinstance(stmt, For) or any(_has_loop(x, taken) for block in blocks_of(stmt) for x in block.body)


def row_lengths(kernel: Kernel) -> frozenset[str]:
    """The sizes of a kernel that are the columns of rows in each of which something recurs."""
    found = ((x.period, made.operands) for x, made in _replications(with_flat_rows(kernel)))
    return frozenset(period.name for period, operands in found if operands and isinstance(period, Var))


def _replications(flat: Kernel) -> Iterator[tuple[FlatLoop, Replication]]:
    """The loops that are flat ones, with their iterations."""
    arrays = arrays_of(flat)
    for loop in find_flat_loops(flat):
        with suppress(NotFlat):
            yield loop, replicate(loop, arrays)


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """A flat loop in blocks of so many rows that they fill whole vectors of so many lanes."""

    loop: FlatLoop
    made: Replication
    lanes: int

    @property
    def rows(self) -> int:
        """The rows of a block."""
        period = self.loop.period
        return self.lanes // gcd(int(period.value), self.lanes) if isinstance(period, Const) else self.lanes

    @property
    def size(self) -> Expr:
        """The elements of a block."""
        return simplify(mul(self.loop.period, index(self.rows)))

    @property
    def most_columns(self) -> int:
        """Longer rows stay as they are: copies of them would fill the cache."""
        widest = max(x.type.size for x in self.made.operands)
        return MOST_BYTES // (widest * self.lanes)

    def statements(self) -> tuple[Stmt, ...]:
        """What stands for the loop."""
        loop, operands = self.loop, self.made.operands
        if not operands:
            elements = simplify(mul(loop.count, loop.period))
            return (For(self.made.place, index(0), elements, 1, self.iteration(loop.first), _LANES),)
        blocks, left = self.blocks()
        at = take_name(f"{loop.row or loop.element}_block", set(self.made.taken))
        begin = add(loop.first, mul(self.size, Var(at, INDEX)))
        block = For(self.made.place, index(0), self.size, 1, self.iteration(begin), _LANES)
        behind = simplify(add(loop.first, mul(self.size, blocks)))
        body = (
            *(Alloc(Array(x.array, x.type, (index(self.extent()),), True, "stack")) for x in operands),
            *self.copies(),
            For(at, index(0), blocks, 1, Block((block,))),
            For(self.made.place, index(0), left, 1, self.iteration(behind), _LANES),
        )
        return (If(self.enough(), Block(body), Block((self.as_written(),))),)

    def blocks(self) -> tuple[Expr, Expr]:
        """How many blocks there are, and how many elements behind them."""
        count, unit = self.loop.count, index(self.rows) if self.loop.row else self.size
        left = simplify(Binary("mod", count, unit))
        blocks = simplify(Binary("floordiv", count, unit))
        return blocks, simplify(mul(left, self.loop.period)) if self.loop.row else left

    def enough(self) -> Expr:
        """Whether there are enough blocks, and rows are short."""
        unit = index(self.rows) if self.loop.row else self.size
        many = Compare("ge", self.loop.count, simplify(mul(unit, index(_BLOCKS))))
        if isinstance(self.loop.period, Const):
            return many
        return Binary("and", Compare("le", self.loop.period, index(self.most_columns)), many)

    def extent(self) -> int:
        """The elements that copies of an operand have room for."""
        period = self.loop.period
        return self.rows * (int(period.value) if isinstance(period, Const) else self.most_columns)

    def iteration(self, begin: Expr) -> Block:
        """What is done for the elements of a block, or of a part of it, that begins there."""
        values = {self.made.element: add(begin, Var(self.made.place, INDEX))}
        return substitute_block(Block(self.made.body), values)

    def copies(self) -> tuple[Stmt, ...]:
        """The copies of what recurs: a row of them as often as a block has rows."""
        loop, place = self.loop, self.made.place
        if loop.element and simplify(Binary("mod", loop.first, loop.period)) != index(0):
            column = Binary("mod", add(loop.first, Var(place, INDEX)), loop.period)
            return (For(place, index(0), self.size, 1, Block(self.filled(Var(place, INDEX), column)), _LANES),)
        again = take_name(f"{loop.column}_copy", set(self.made.taken))
        at = add(mul(loop.period, Var(again, INDEX)), Var(loop.column, INDEX))
        row = For(loop.column, index(0), loop.period, 1, Block(self.filled(at, Var(loop.column, INDEX))), _LANES)
        return (For(again, index(0), index(self.rows), 1, Block((row,))),)

    def filled(self, at: Expr, column: Expr) -> tuple[Stmt, ...]:
        """An element of each operand."""
        values = {self.loop.column: column}
        return tuple(Assign(x.array, (at,), substitute(x.value, values)) for x in self.made.operands)

    def as_written(self) -> Stmt:
        """The loop in its rows."""
        loop = self.loop
        if not loop.row:
            values = {loop.column: Binary("mod", Var(loop.element, INDEX), loop.period)}
            body = substitute_block(Block(loop.body), values)
            return replace(loop.stmt, body=body, facts=_LANES, label=0)
        inner = For(loop.column, index(0), loop.period, 1, Block(loop.body), _LANES)
        return replace(loop.stmt, body=Block((inner,)), label=0)
