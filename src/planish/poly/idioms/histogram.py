"""Recognises histograms: data-dependent increments, written as a search for the bin.

Before: for i { c = x[i];  for row in 0 .. 256 { h[row] += c == row ? w[i] : 0 } }
After:  for i { c = x[i];  h[c] += w[i] }

Such nests run like this; to be analysed, subscripts have to be affine, which these are not.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce

from planish.core.names import take_name
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Select, Var, index, type_of
from planish.ir.index.cell_ranges import range_behind
from planish.ir.index.interval import Interval
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import arrays_in, blocks_of, loads, used_names, variables, walk, with_blocks
from planish.ir.types import INDEX, Type

FARTHEST = 1 << 16
"""So many elements are searched at most."""
_OWN = 2
"""A cell of a search is stored and read once."""


@dataclass(frozen=True, slots=True)
class Bin:
    """An array whose elements, from the first one to one of so many `rows`, are added to; and its type."""

    array: str
    rows: int
    type: Type


@dataclass(frozen=True, slots=True)
class Histogram:
    """What a kernel does with the elements themselves in place of searches: its `body`, and the `counts` in it."""

    body: Block
    counts: tuple[Bin, ...]


def find_counting(kernel: Kernel) -> Histogram | None:
    """The counts of a kernel; None where there are none, where what chooses may lie outside of what is searched, or
    where a nest does anything else with what it adds to."""
    counts: dict[str, Bin] = {}
    made: set[int] = set()
    body = _without_searches(kernel.body, counts, made)
    if not counts:
        return None
    for nest in (x for x in body.body if isinstance(x, For)):
        added = [x for x in walk(nest) if isinstance(x, Reduce) and x.array in counts]
        # What else is added to may lie behind the elements that are searched.
        if any(id(x) not in made for x in added):
            return None
        if added and any(_reads_others(x, {y.array for y in added}) for x in walk(nest)):
            return None
    return Histogram(body, tuple(counts.values()))


def search_bins(kernel: Kernel) -> Kernel | None:
    """A kernel in which data choose what is added to, with searches for that in the place of these choices; None where
    that is no kernel of counts.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "kernel k(n; x: u8[n], h: i32[64]) { for i in 0 .. n { h[i64(x[i] & 63:u8)] += 1:i32 } }"
    >>> from planish.ir.text.printer import print_stmt
    >>> print(print_stmt(search_bins(parse_kernel(text)).body), end="")
    {
      for i in 0 .. n {
        alloc bin: u8[] distinct register
        bin[] = x[i] & 63:u8
        for row in 0 .. 64 {
          h[row] += select(bin[] == u8(row), 1:i32, 0:i32)
        }
      }
    }
    """
    taken = {*used_names(kernel)}

    def searched(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block.body:
            match stmt:
                case Reduce(index=(place,), op="add") if any(True for _ in loads(place)):
                    out += _search(stmt, place, block, taken)
                case _:
                    out.append(with_blocks(stmt, tuple(searched(x) for x in blocks_of(stmt))))
        return Block(tuple(out))

    made = replace(kernel, body=searched(kernel.body))
    others = (y for x in walk(made.body) if isinstance(x, Assign | Reduce) for y in x.index)
    return None if any(map(loads, others)) or find_counting(made) is None else made


def _search(stmt: Reduce, place: Expr, around: Block, taken: set[str]) -> tuple[Stmt, ...]:
    """An addition to the element that data choose as a search; as it is where it is not known which these may be."""
    value = place.operand if isinstance(place, Cast) else place
    cell = value if isinstance(value, Load) and not value.index else None
    low, high = _range(value, stmt, around)
    if low < 0 or high >= FARTHEST:
        return (stmt,)
    before: tuple[Stmt, ...] = ()
    if cell is None:
        own = Array(take_name("bin", taken), type_of(value), (), True, "register")
        cell, before = Load(own.name, (), own.type), (Alloc(own), Assign(own.name, (), value, stmt.span))
    row, type = take_name("row", taken), type_of(stmt.value)
    test = Compare("eq", cell, Cast(index(row), cell.type))
    term = Select(test, stmt.value, Const(0.0 if type.is_float else 0, type))
    added = replace(stmt, index=(index(row),), value=term)
    return (*before, For(row, index(0), index(high + 1), 1, Block((added,)), span=stmt.span))


def _without_searches(block: Block, counts: dict[str, Bin], made: set[int]) -> Block:
    """A block with additions in place of searches; what is counted is put with the `counts`, the identities of the
    additions with those that are `made`."""
    out: list[Stmt] = []
    for stmt in block.body:
        found = _read_search(stmt, block)
        if found is None:
            out.append(with_blocks(stmt, tuple(_without_searches(x, counts, made) for x in blocks_of(stmt))))
            continue
        count, direct = found
        counts[count.array] = max(counts.get(count.array, count), count, key=lambda x: x.rows)
        out[-2:] = [*_chosen(out[-2:], direct, block)]
        made |= {id(x) for x in walk(out[-1]) if isinstance(x, Reduce)}
    return Block(tuple(out))


def _chosen(before: list[Stmt], direct: Stmt, around: Block) -> Iterator[Stmt]:
    """The two statements in front of an addition, and the addition. Where its condition is also that of the cell which
    says to what is added, the addition needs no cell."""
    match (*before, direct):
        case (
            Alloc(array=cell),
            Assign(array=name, index=(), value=Select(condition=test, then=chosen)),
            If(condition=condition, then=Block(body=(Reduce() as added,))),
        ) if name == cell.name and test == condition and _mentions(around, name) == _OWN:
            yield If(condition, Block((replace(added, index=(Cast(chosen, INDEX),)),)))
        case _:
            yield from (*before, direct)


def _mentions(block: Block, cell: str) -> int:
    """How often a block reads or stores a cell."""
    return sum(x == cell for x in arrays_in(block))


def _read_search(stmt: Stmt, around: Block) -> tuple[Bin, Stmt] | None:
    """A loop that searches for the element to which something is added, and the addition."""
    match stmt:
        case For(
            var=row, lower=Const(value=0), upper=Const(value=rows), step=1,
            body=Block(body=(
                Reduce(array=array, index=(Var(name=place),), op="add", value=Select(
                    condition=condition, then=term, otherwise=Const(value=0),
                ), span=span),
            )),
        ) if row == place and row not in variables(term):  # fmt: skip
            *around_it, test = _parts(condition)
            match test:
                case Compare(op="eq", left=Load(index=()) as cell, right=Cast(operand=Var(name=chosen))) if (
                    chosen == row and array != cell.array and not any(row in variables(x) for x in around_it)
                ):
                    low, high = _range(cell, stmt, around)
                case _:
                    return None
            if low < 0 or high >= rows:
                return None
            direct: Stmt = Reduce(array, (Cast(cell, INDEX),), "add", term, span)
            if around_it:
                direct = If(reduce(partial(Binary, "and"), around_it), Block((direct,)))
            return Bin(array, int(rows), type_of(term)), direct
        case _:
            return None


def _parts(condition: Expr) -> list[Expr]:
    """The parts of a condition that all have to hold, in order."""
    match condition:
        case Binary(op="and", left=left, right=right):
            return [*_parts(left), *_parts(right)]
        case _:
            return [condition]


def _range(value: Expr, stmt: Stmt, around: Block) -> Interval:
    """Between which numbers a value is at a statement of a block."""
    return range_behind(value, around.body[: next(n for n, x in enumerate(around.body) if x is stmt)])


def _reads_others(stmt: Stmt, added: set[str]) -> bool:
    """Whether a statement uses what is added to in any other way."""
    if isinstance(stmt, For | Block | Alloc):
        return False
    if isinstance(stmt, If):
        return any(x.array in added for x in loads(stmt.condition))
    if isinstance(stmt, Reduce) and stmt.array in added:
        used = (y.array for x in (*stmt.index, stmt.value) for y in loads(x))
        return stmt.op != "add" or any(x in added for x in used)
    return any(x in added for x in arrays_in(stmt))
