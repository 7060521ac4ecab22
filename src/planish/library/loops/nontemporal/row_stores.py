"""Recognises row stores: what a loop writes to consecutive elements, some in each iteration.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(n; A: f32[n, n]) { for j in 0 .. n { A[0, 2 * j + 1] = 1.0:f32  A[0, 2 * j] = 2.0:f32 } }"
>>> row = find_row(parse_kernel(text).body.body[0])
>>> row.array, row.count
('A', 2)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import add, coefficient_of, constant, same, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, Let, Reduce, Stmt
from planish.ir.traverse import variables


@dataclass(frozen=True, slots=True)
class StoredRow:
    """The array, where the first element of an iteration is, and how many elements an iteration writes; the next one
    writes those after them."""

    array: str
    first: tuple[Expr, ...]
    count: int


def find_row(loop: For, *, alone: bool = True) -> StoredRow | None:
    """The row that a loop writes, each element once; None where it writes something else, or calls for more than
    assignments. Not `alone`: the row of what it assigns to first, but to what it makes itself, whatever it does with
    other arrays."""
    body = list(_flat(loop.body))
    made = {x.array.name for x in body if isinstance(x, Alloc)}
    stores = [x for x in body if isinstance(x, Assign) and (alone or x.array not in made)]
    if not alone and stores:
        streamed = stores[0].array
        stores = [x for x in stores if x.array == streamed]
        body = [x for x in body if not _is_of_another(x, streamed)]
    if len(stores) + sum(isinstance(x, Let) for x in body) < len(body) or not stores:
        return None
    first, named = stores[0], {x.var for x in body if isinstance(x, Let)}
    used = {v for x in stores for at in x.index for v in variables(at)}
    if any(x.array != first.array or not x.index for x in stores) or used & named:
        return None
    moved = coefficient_of(first.index[-1], loop.var)
    if moved is None or any(not _is_beside(x, first, loop.var) for x in stores):
        return None
    places = [constant(sub(x.index[-1], first.index[-1])) for x in stores]
    known = sorted(x for x in places if x is not None)
    count = moved[0] * loop.step
    if len(known) < len(places) or count < 1 or known != list(range(known[0], known[0] + count)):
        return None
    return StoredRow(first.array, (*first.index[:-1], add(first.index[-1], index(known[0]))), count)


def _flat(block: Block) -> Iterator[Stmt]:
    """The statements of a block and of the blocks in it."""
    for stmt in block.body:
        if isinstance(stmt, Block):
            yield from _flat(stmt)
        else:
            yield stmt


def _is_of_another(stmt: Stmt, array: str) -> bool:
    """Whether a statement makes or changes another array than that one."""
    match stmt:
        case Assign(array=name) | Reduce(array=name) | Alloc(array=Array(name=name)):
            return name != array
        case _:
            return False


def _is_beside(store: Assign, other: Assign, var: str) -> bool:
    """Whether two stores are to one row, which does not change with a loop."""
    rows = zip(store.index[:-1], other.index[:-1], strict=True)
    return all(same(a, b) and var not in variables(a) for a, b in rows)
