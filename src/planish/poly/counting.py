"""Counts: nests that add to elements which data choose, and that say so by a search for each of them.

Before: for i { c = x[i];  for row in 0 .. 256 { h[row] += c == row ? w[i] : 0 } }
After:  for i { c = x[i];  h[c] += w[i] }

Such nests run like this; to be analysed, subscripts have to be affine, which these are not.

>>> from planish.ir.parser import parse_kernel
>>> from planish.ir.printer import print_stmt
>>> search = "for row in 0 .. 256 { h[row] += select(c[] == u8(row), w[i], 0:i32) }"
>>> nest = "for i in 0 .. n { alloc c: u8[] c[] = x[i] %s }" % search
>>> found = find_counting(parse_kernel("kernel k(n; x: u8[n], w: i32[n], h: i32[256]) { %s }" % nest))
>>> print(print_stmt(found.body), end="")
{
  for i in 0 .. n {
    alloc c: u8[]
    c[] = x[i]
    h[i64(c[])] += w[i]
  }
}
>>> [(x.array, x.rows, str(x.type)) for x in found.counts]
[('h', 256, 'i32')]
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.ir.expr import Cast, Compare, Const, Load, Select, Var, type_of
from planish.ir.nest import Alloc, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.traverse import arrays_in, map_block, walk
from planish.ir.types import INDEX, Type

NARROW = 16
"""The bits of a type all of whose values may have rows."""


@dataclass(frozen=True, slots=True)
class Count:
    """An array whose elements, from the first one to one of so many `rows`, are added to; and its type. What chooses
    has a narrow type, all of whose values have a row, or lies within the loop that searches."""

    array: str
    rows: int
    type: Type


@dataclass(frozen=True, slots=True)
class Counting:
    """What a kernel does with the elements themselves in place of searches: its `body`, and the `counts` in it."""

    body: Block
    counts: tuple[Count, ...]


def find_counting(kernel: Kernel) -> Counting | None:
    """The counts of a kernel; None where there are none, or where a nest does anything else with what it adds to."""
    counts: dict[str, Count] = {}

    def visit(stmt: Stmt) -> Stmt:
        found = _read_search(stmt)
        if found is None:
            return stmt
        count, direct = found
        known = counts.get(count.array, count)
        counts[count.array] = known if known.rows >= count.rows else count
        return direct

    body = map_block(visit, kernel.body)
    if not counts:
        return None
    for nest in (x for x in body.body if isinstance(x, For)):
        added = [x.array for x in walk(nest) if isinstance(x, Reduce) and x.array in counts]
        if added and any(_reads_others(x, {*added}) for x in walk(nest)):
            return None
    return Counting(body, tuple(counts.values()))


def _read_search(stmt: Stmt) -> tuple[Count, Reduce] | None:
    """A loop that searches for the element to which something is added, and the addition."""
    match stmt:
        case For(
            var=row, lower=Const(value=0), upper=Const(value=rows), step=1,
            body=Block(body=(
                Reduce(array=array, index=(Var(name=place),), op="add", value=Select(
                    condition=Compare(op="eq", left=Load(index=()) as cell, right=Cast(operand=Var(name=chosen))),
                    then=term, otherwise=Const(value=0),
                ), span=span),
            )),
        ) if row == place == chosen and array != cell.array:  # fmt: skip
            where = Cast(cell, INDEX)
            most = 1 << cell.type.bits if cell.type.kind == "uint" and cell.type.bits <= NARROW else int(rows)
            return Count(array, most, type_of(term)), Reduce(array, (where,), "add", term, span)
        case _:
            return None


def _reads_others(stmt: Stmt, added: set[str]) -> bool:
    """Whether a statement uses what is added to in any other way."""
    if isinstance(stmt, For | Block | Alloc):
        return False
    if isinstance(stmt, Reduce) and stmt.array in added:
        return any(x in added for x in arrays_in(Assign("", (), stmt.value))) or stmt.op != "add"
    return any(x in added for x in arrays_in(stmt))
