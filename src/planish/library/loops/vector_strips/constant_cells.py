"""Scalar replacement of small local arrays: where all subscripts are constants, each element is a cell of its own.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = '''kernel k(n; A: u8[2 * n], S: u32[2]) { alloc t: u32[2]
...   for c in 0 .. 2 { t[c] = 0:u32 }
...   for i in 0 .. n { for c in 0 .. 2 { t[c] += u32(A[2 * i + c]) } }
...   for c in 0 .. 2 { S[c] += t[c] } }'''
>>> print(print_stmt(with_constant_cells(parse_kernel(text)).body), end="")
{
  alloc t_0: u32[]
  alloc t_1: u32[]
  t_0[] = 0:u32
  t_1[] = 0:u32
  for i in 0 .. n {
    t_0[] += u32(A[2 * i])
    t_1[] += u32(A[2 * i + 1])
  }
  S[0] += t_0[]
  S[1] += t_1[]
}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from planish.core.names import take_name
from planish.ir.accesses import accesses, map_accesses
from planish.ir.expr import Const, Expr, Load, Var, index, type_of
from planish.ir.index.polynomial import constant
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import arrays_in, map_block, substitute_block, used_names, variables, walk

MOST_CELLS = 16
"""The most elements of an array that become cells of their own, and turns of a loop that is written out for them."""


def with_constant_cells(kernel: Kernel) -> Kernel:
    """The kernel with short loops written out where what they count is the element of a small array, and with cells for
    the elements of those of its own; the kernel itself where there are none."""
    while True:
        made = next((y for x in _small_arrays(kernel) if (y := _split(kernel, x)) is not None), None)
        if made is None:
            break
        kernel = made
    body = map_block(partial(_updates_written_out, used_names(kernel)), kernel.body)
    return kernel if body == kernel.body else replace(kernel, body=simplify_block(body))


def _small_arrays(kernel: Kernel) -> Iterator[Array]:
    for x in walk(kernel.body):
        if isinstance(x, Alloc) and x.array.shape and isinstance(x.array.shape[-1], Const) and not x.array.values:
            if 0 < int(x.array.shape[-1].value) <= MOST_CELLS:
                yield x.array


def _split(kernel: Kernel, array: Array) -> Kernel | None:
    """The kernel with an array for each element of the last dimension of one; None where it is not known which of them
    is accessed."""
    taken, names = used_names(kernel), dict[int, str]()
    body = simplify_block(map_block(partial(_written_out, taken, array.name), kernel.body))
    numbers = {constant(x.index[-1]) for x in accesses(body) if x.array == array.name}
    (extent,) = array.shape[-1:]
    assert isinstance(extent, Const)
    if not numbers or not all(x is not None and 0 <= x < int(extent.value) for x in numbers):
        return None
    for at in sorted(x for x in numbers if x is not None):
        name = f"{array.name}_{at}"
        while name in taken:
            name += "_"
        names[at] = name

    def element(x: Load) -> Load:
        at = constant(x.index[-1]) if x.array == array.name else None
        return x if at is None else replace(x, array=names[at], index=x.index[:-1])

    def declared(x: Stmt) -> Stmt | tuple[Stmt, ...]:
        if not isinstance(x, Alloc) or x.array.name != array.name:
            return x
        return tuple(Alloc(replace(array, name=y, shape=array.shape[:-1])) for y in names.values())

    return replace(kernel, body=map_block(declared, map_accesses(element, body)))


def _written_out(taken: frozenset[str], name: str, x: Stmt) -> Stmt | tuple[Stmt, ...]:
    """The turns of a short loop that touches an array, one after the other."""
    return _turns(x, taken) if isinstance(x, For) and name in arrays_in(x) else x


def _updates_written_out(taken: frozenset[str], x: Stmt) -> Stmt | tuple[Stmt, ...]:
    """The same of a loop that does nothing but update the elements that it counts."""
    if not isinstance(x, For) or not all(isinstance(y, Reduce) for y in x.body.body):
        return x
    counts = all(len(y.index) == 1 and variables(y.index[0]) == {x.var} for y in x.body.body if isinstance(y, Reduce))
    return _turns(x, taken) if counts else x


def _turns(x: For, taken: frozenset[str]) -> Stmt | tuple[Stmt, ...]:
    """The turns of a short loop, each with names of its own."""
    first, last = constant(x.lower), constant(x.upper)
    if first is None or last is None or x.step != 1 or not 0 < last - first <= MOST_CELLS:
        return x
    if not all(isinstance(y, Assign | Reduce | Let) for y in x.body.body):
        return x
    known = {*taken}
    made: list[Stmt] = []
    for at in range(first, last):
        values: dict[str, Expr] = {x.var: index(at)}
        for y in x.body.body:
            (stmt,) = substitute_block(Block((y,)), values).body
            if isinstance(stmt, Let):
                name = take_name(f"{stmt.var}_{at}", known)
                values[stmt.var] = Var(name, type_of(stmt.value))
                stmt = replace(stmt, var=name)
            made.append(stmt)
    return tuple(made)
