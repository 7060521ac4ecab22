"""Transposes tables that inner sums read across rows, before the loops that reread them.

Before: for b { for u { for k { y[b, u] += x[b, k] * c[8 * u + k] } } }
After:  for k { for u { turned[k, u] = c[8 * u + k] } }
        for b { for u { for k { y[b, u] += x[b, k] * turned[k, u] } } }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "for b in 0 .. n { for u in 0 .. 8 { for k in 0 .. 8 { y[b, u] += x[b, k] * c[8 * u + k] } } }"
>>> kernel = parse_kernel("kernel k(n; c: f32[64], x: f32[n, 8], y: f32[n, 8]) { %s }" % text)
>>> turned, tables = turn_tables(kernel)
>>> tables[0].load.array, tables[0].shape
('c', (8, 8))
>>> print(print_stmt(turned.body.body[1]))
if 0 < n {
  for k_2 in 0 .. 8 {
    for u_2 in 0 .. 8 {
      turned[k_2, u_2] = c[8 * u_2 + k_2]
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from planish.core.names import take_name
from planish.ir.expr import Compare, Expr, Load, index
from planish.ir.index.polynomial import coefficient_of, constant, place, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import loads, map_expr, used_names, variables, walk
from planish.poly.isl.expression import conjunction
from planish.schedule.auto.rewrites.packing import chooses
from planish.schedule.auto.tiling.strides import StrideKind, stride_kind

LARGEST = 4096
"""The elements of a table: it stays in the first cache with what it is used for."""

At = tuple[Expr, ...]
"""The subscripts of a cell."""


@dataclass(frozen=True, slots=True)
class ConstantRange:
    """A loop from one number to another."""

    var: str
    lower: int
    upper: int


@dataclass(frozen=True, slots=True)
class Table:
    """The elements that a load reads in all iterations of some loops, of which the last one strides across rows; the
    copy has a dimension for each of them."""

    load: Load
    loops: tuple[ConstantRange, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The iterations of each loop."""
        return tuple(x.upper - x.lower for x in self.loops)


def turn_tables(kernel: Kernel) -> tuple[Kernel, tuple[Table, ...]]:
    """The kernel that transposes the tables which sums read across their rows, and reads the copies; and the tables."""
    turner = _Turner(kernel)
    body = turner.visit(kernel.body, ())
    return replace(kernel, body=Block((*turner.before, body))), tuple(turner.copies)


class _Turner:
    """A kernel on its way: the tables that were found, and what makes their copies."""

    def __init__(self, kernel: Kernel) -> None:
        written = {x.array for x in walk(kernel.body) if isinstance(x, Assign | Reduce)}
        self.known = {x.name for x in kernel.arrays} - written
        self.names = {*used_names(kernel)}
        self.finals = _finals(kernel)
        self.copies: dict[Table, Array] = {}
        self.before: list[Stmt] = []

    def visit(self, stmt: Stmt, around: tuple[For, ...]) -> Stmt:
        """A statement inside of some loops; what stands in conditions need not run."""
        match stmt:
            case Block(body=body):
                return Block(tuple(self.visit(x, around) for x in body))
            case For(step=1, body=block):
                made = self.visit(block, (*around, stmt))
                return replace(stmt, body=made if isinstance(made, Block) else Block((made,)))
            case Reduce(index=at, value=value) if at and not chooses(stmt):
                final = self.finals.get((stmt.array, at), at)
                lanes = next((x for x in around if _kind(final, x) == "unit"), None)
                sums = [x for x in around if not any(x.var in variables(y) for y in at)]
                if lanes is None or not sums:
                    return stmt
                return replace(stmt, value=map_expr(lambda x: self.turned(x, lanes, sums, around), value))
            case _:
                return stmt

    def turned(self, load: Expr, lanes: For, sums: Sequence[For], around: tuple[For, ...]) -> Expr:
        """A load from the copy, where the load goes along rows in a loop of a sum, and across them where the sum's
        target goes along its own."""
        if not isinstance(load, Load) or load.array not in self.known or _kind(load.index, lanes) != "far":
            return load
        used = frozenset().union(*map(variables, load.index))
        moved, others = [x for x in around if x.var in used], [x for x in around if x.var not in used]
        ranges = [_range(x) for x in (*(x for x in moved if x is not lanes), lanes)]
        known = tuple(x for x in ranges if x is not None)
        bounds = frozenset().union(*(variables(y) for x in others for y in (x.lower, x.upper)))
        again = others and bounds.isdisjoint(x.var for x in around)
        along = any(_kind(load.index, x) == "unit" for x in sums)
        if not (again and along) or len(known) < len(ranges) or used - {x.var for x in moved}:
            return load
        table = Table(load, known)
        if not 1 < prod(table.shape) <= LARGEST:
            return load
        if table not in self.copies:
            self.copies[table] = self.copied(table, others)
        return Load(self.copies[table].name, tuple(_place(x, index(x.var)) for x in known), load.type)

    def copied(self, table: Table, others: Sequence[For]) -> Array:
        """The copy of a table, which is made if the loops around it run at all."""
        shape = tuple(map(index, table.shape))
        array = Array(take_name("turned", self.names), table.load.type, shape, True, "stack")
        fresh = [(x, take_name(x.var, self.names)) for x in table.loops]
        at = {x.var: index(name) for x, name in fresh}
        own = replace(table.load, index=tuple(place(x, at) for x in table.load.index))
        stmt: Stmt = Assign(array.name, tuple(_place(x, index(name)) for x, name in fresh), own)
        for x, name in reversed(fresh):
            stmt = For(name, index(x.lower), index(x.upper), 1, Block((stmt,)))
        runs = conjunction(Compare("lt", x.lower, x.upper) for x in others)
        self.before += [Alloc(array), If(runs, Block((stmt,)))]
        return array


def _finals(kernel: Kernel) -> dict[tuple[str, At], At]:
    """Where what is summed in a cell of a local array is stored at last, for those of which that is known."""
    own = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    out: dict[tuple[str, At], At] = {}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Assign | Reduce):
            used = (x for x in loads(stmt.value) if x.array in own and x.array != stmt.array)
            out |= {(x.array, x.index): stmt.index for x in used}
    return out


def _range(loop: For) -> ConstantRange | None:
    lower, upper = constant(loop.lower), constant(loop.upper)
    return None if lower is None or upper is None else ConstantRange(loop.var, lower, upper)


def _place(range: ConstantRange, at: Expr) -> Expr:
    """Where the copy has what is read in an iteration."""
    return sub(at, index(range.lower))


def _kind(at: tuple[Expr, ...], loop: For) -> StrideKind | None:
    """How an access goes on in a loop, if that is known."""
    moved = [coefficient_of(x, loop.var) for x in at]
    steps = tuple(x[0] for x in moved if x is not None)
    return stride_kind(steps) if at and len(steps) == len(at) else None
