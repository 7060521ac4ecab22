"""Placement of local cells: each in the innermost block that holds a value's whole life.

A name that is set anew in several places stands for as many cells, so that nothing but its spelling ties them.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> kernel = parse_kernel("kernel k(n; A: f64[n], s: f64[]) { for i in 0 .. n { s[] = A[i]  A[i] = s[] * s[] } }")
>>> print(print_stmt(place_cell("s", Array("s", kernel.array("s").type), kernel.body, set()).body[0]))
for i in 0 .. n {
  alloc s: f64[]
  s[] = A[i]
  A[i] = s[] * s[]
}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Launch, Let, Reduce, Stmt, While
from planish.ir.traverse import arrays_in, expressions, loads
from planish.poly.canonical.privatise import rename_arrays


def place_cell(name: str, cell: Array, block: Block, taken: set[str]) -> Block:
    """Declare the cell `name` as `cell` (renamed where there are several) in a block that does not read it first.

    Names that are given away are added to `taken`.
    """
    out = list(block.body)
    shift = 0
    for first, last in _lives(name, block.body):
        fresh = replace(cell, name=_fresh(cell.name, taken))
        part = [*rename_arrays(Block(block.body[first:last]), {name: fresh.name}).body]
        here = _settled(fresh, part, taken)
        out[first + shift : last + shift] = here
        shift += len(here) - (last - first)
    return Block(tuple(out))


def _settled(cell: Array, part: list[Stmt], taken: set[str]) -> list[Stmt]:
    """The statements of one life with the declaration, inside them where they are a loop or a condition."""
    match part:
        case [For() | While() as loop] if not _reads_first(loop, cell.name):
            return [replace(loop, body=_inner(cell, loop.body, taken))]
        case [If() as branch] if not _reads_first(branch, cell.name):
            then = _inner(cell, branch.then, taken)
            return [replace(branch, then=then, otherwise=_inner(cell, branch.otherwise, taken))]
        case _:
            return [Alloc(cell), *part]


def _inner(cell: Array, block: Block, taken: set[str]) -> Block:
    if not any(cell.name in arrays_in(x) for x in block.body):
        return block
    taken.discard(cell.name)
    return place_cell(cell.name, cell, block, taken)


def _fresh(name: str, taken: set[str]) -> str:
    fresh, number = name, 0
    while fresh in taken:
        number += 1
        fresh = f"{name}_{number}"
    taken.add(fresh)
    return fresh


def _lives(name: str, body: tuple[Stmt, ...]) -> list[tuple[int, int]]:
    """Ranges of statements, each from where the cell is set anew to its last use."""
    users = [n for n, stmt in enumerate(body) if name in arrays_in(stmt)]
    needed = False
    starts: list[int] = []
    for n in reversed(users):
        if _sets_always(body[n], name) or (not needed and not _reads_first(body[n], name)):
            starts.append(n)
            needed = False
        else:
            needed = True
    starts = sorted({*starts, *users[:1]})
    out = []
    for start, end in zip(starts, [*starts[1:], len(body)], strict=True):
        out.append((start, 1 + max(n for n in users if n < end)))
    return out


def _sets_always(stmt: Stmt, name: str) -> bool:
    """Whether the statement overwrites the cell, whatever it held."""
    match stmt:
        case Assign():
            return stmt.array == name and not _reads(stmt, name)
        case If(then=then, otherwise=otherwise):
            return not _reads_first(stmt, name) and all(_block_sets(x, name) for x in (then, otherwise))
        case Block():
            return not _reads_first(stmt, name) and _block_sets(stmt, name)
        case For() | While() | Reduce() | Alloc() | Let():
            return False
        case Launch() | Barrier():
            raise AssertionError("launches are made of nests that nothing is done to any more")
        case _:
            assert_never(stmt)


def _block_sets(block: Block, name: str) -> bool:
    return any(_sets_always(x, name) for x in block.body)


def _reads_first(stmt: Stmt, name: str) -> bool:
    """Whether the statement may read the cell before it has set it."""
    match stmt:
        case Assign() | Alloc() | Let():
            return _reads(stmt, name)
        case Reduce(array=array):
            return array == name or _reads(stmt, name)
        case For(body=body) | While(body=body):
            return _reads(stmt, name) or _block_reads_first(body.body, name)
        case If(then=then, otherwise=otherwise):
            return _reads(stmt, name) or any(_block_reads_first(x.body, name) for x in (then, otherwise))
        case Block(body=body):
            return _block_reads_first(body, name)
        case Launch() | Barrier():
            raise AssertionError("launches are made of nests that nothing is done to any more")
        case _:
            assert_never(stmt)


def _block_reads_first(body: Iterable[Stmt], name: str) -> bool:
    for stmt in body:
        if _reads_first(stmt, name):
            return True
        if _sets_always(stmt, name):
            return False
    return False


def _reads(stmt: Stmt, name: str) -> bool:
    """Whether an expression that stands directly in the statement reads the cell."""
    return any(x.array == name for e in expressions(stmt) for x in loads(e))
