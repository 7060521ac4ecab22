"""Pixels of any number of channels: the loop over channels written out for few of them, and as it is for more.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = '''kernel k(n, m; A: u8[n, m], w: u8[n], B: u8[n, m]) {
...   for x in 0 .. n { for c in 0 .. m { B[x, c] = min(A[x, c], w[x]) } } }'''
>>> found = with_channel_sizes(parse_kernel(text)).body.body[0]
>>> print(print_stmt(found).partition(" else")[0])
if m == 1 {
  for x in 0 .. n {
    B[x] = min(A[x], w[x])
  }
}
"""

from __future__ import annotations

from dataclasses import replace

from planish.ir.accesses import accesses
from planish.ir.expr import Compare, Const, Var, index
from planish.ir.index.polynomial import mul
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Alloc, Array, Block, For, If, Kernel, Let, Stmt
from planish.ir.traverse import arrays_in, map_block, substitute_block, variables, walk, with_stmts
from planish.ir.types import INDEX
from planish.library.loops.coalesce.flat_loops import with_joined_ends

CHANNELS = (1, 2, 3, 4)
"""The numbers of channels that there are cases for."""


def with_channel_sizes(kernel: Kernel) -> Kernel:
    """The kernel with a case for each of a few numbers of channels, where an innermost loop runs over all elements of
    the last dimension of arrays, and others have one element for all of these; the kernel itself where none does."""
    size = next((x for y in walk(kernel.body) if (x := _channels(y, kernel))), None)
    flat = {} if size is None else _flattened(kernel, size)
    if size is None or not flat:
        return kernel
    body = with_joined_ends(kernel.body, dict.fromkeys(flat, index(size)))
    outer = next(y for y in walk(body) if _is_pixels(y, size))
    cases: Stmt = outer
    for count in reversed(CHANNELS):
        fixed = map_block(_written_out, substitute_block(Block((outer,)), {size: index(count)}))
        cases = If(Compare("eq", Var(size, INDEX), index(count)), simplify_block(fixed), Block((cases,)))
    arrays = tuple(flat.get(x.name, x) for x in kernel.arrays)
    return replace(kernel, arrays=arrays, body=with_stmts(body, outer, (cases,)))


def _is_pixels(x: Stmt, size: str) -> bool:
    """Whether it is a loop in which there is nothing but a loop over so many channels, and names."""
    if not isinstance(x, For) or not x.body.body:
        return False
    *before, inner = x.body.body
    if not isinstance(inner, For) or not all(isinstance(y, Let) for y in before):
        return False
    return inner.lower == index(0) and inner.step == 1 and inner.upper == Var(size, INDEX)


def _channels(x: Stmt, kernel: Kernel) -> str | None:
    """The number of channels that the loop in a loop over pixels runs over: all that has no such dimension is the same
    for all of them, and something is."""
    sizes = {y.name: y.shape[-1] for y in kernel.arrays if y.shape}
    for size in kernel.sizes:
        if not isinstance(x, For) or not _is_pixels(x, size):
            continue
        (channel,) = (y.var for y in x.body.body if isinstance(y, For))
        places = (y for y in accesses(x) if sizes.get(y.array, index(0)) != Var(size, INDEX))
        moves = {z for y in places for z in variables(y)}
        whole = any(sizes.get(y) == Var(size, INDEX) for y in arrays_in(x))
        return size if whole and x.var in moves and channel not in moves else None
    return None


def _flattened(kernel: Kernel, size: str) -> dict[str, Array]:
    """The arrays whose last dimension is a size, with that and the one before as one."""
    found: dict[str, Array] = {}
    for x in kernel.arrays:
        if len(x.shape) > 1 and x.shape[-1] == Var(size, INDEX):
            rows = x.shape[-2]
            found[x.name] = replace(x, shape=(*x.shape[:-2], None if rows is None else mul(rows, index(size))))
    local = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    return {} if local & set(found) else found


def _written_out(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
    """The statements of a loop over a few channels."""
    if not isinstance(stmt, For) or stmt.lower != index(0) or not isinstance(stmt.upper, Const):
        return stmt
    if stmt.step != 1 or any(isinstance(x, For) for x in walk(stmt.body)):
        return stmt
    turns = [substitute_block(stmt.body, {stmt.var: index(at)}) for at in range(int(stmt.upper.value))]
    named = any(isinstance(x, Let) for x in stmt.body.body)
    return tuple(turns) if named else tuple(x for turn in turns for x in turn.body)
