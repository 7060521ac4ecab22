"""Local arrays are made in the innermost loop that needs them: each iteration, and so each thread, has its own.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> text = "alloc s: f32[] for i in 0 .. n { s[] = A[i] B[i] = s[] * s[] }"
>>> print(print_kernel(localise(parse_kernel(f"kernel k(n; A: f32[n], B: f32[n]) {{ {text} }}"))).rstrip())
kernel k(n; A: f32[n], B: f32[n])
{
  for i in 0 .. n {
    alloc s: f32[] distinct register
    s[] = A[i]
    B[i] = s[] * s[]
  }
}
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from planish.ir.nest import Alloc, Array, Block, For, If, Kernel, Stmt
from planish.ir.passes.declaration_sinking import sink
from planish.ir.traverse import arrays_in, blocks_of, expressions, loads, variables, with_blocks
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.dependence import is_live_in
from planish.schedule.context import region
from planish.schedule.nodes import label_kernel, paths


def localise(kernel: Kernel) -> Kernel:
    """The kernel whose local arrays, which stand first in it, are made as far inside as they may be."""
    body = kernel.body
    arrays = [x.array for x in body.body if isinstance(x, Alloc)]
    for array in arrays:
        rest = Block(tuple(x for x in body.body if not (isinstance(x, Alloc) and x.array.name == array.name)))
        if not array.shape and array.memory != "table":
            body = sink(array.name, array.type, rest)
        else:
            body = _inside(replace(kernel, body=rest), array)
    return replace(kernel, body=body)


def _inside(kernel: Kernel, array: Array) -> Block:
    """The nest with an array made in the innermost loop that holds all its uses, if none of its iterations reads what
    another one has left there; at the beginning where there is none."""
    labelled = label_kernel(kernel)
    best: For | None = None
    for path in paths(labelled.body):
        loop = path[-1]
        if not isinstance(loop, For) or array.name not in set(arrays_in(loop)):
            continue
        around = {x.var for x in path if isinstance(x, For)}
        if any(array.name in set(arrays_in(x)) for x in _others(labelled.body, loop)):
            continue
        if any(variables(x) & around for x in array.shape if x is not None):
            continue
        inner = Block((Alloc(array), *loop.body.body))
        try:
            left = is_live_in(region(replace(labelled, body=labelled.body), (*path, loop), inner), {array.name})
        except (NotAffineError, isl.Error):
            break
        if left and array.memory != "table":
            break
        best = loop
    if best is None:
        return Block((Alloc(array), *kernel.body.body))
    return _with_first(labelled.body, best.label, Alloc(array))


def _others(block: Block, loop: For) -> list[Stmt]:
    """The statements that hold no part of a loop."""
    out: list[Stmt] = []
    for stmt in block.body:
        if stmt is loop:
            continue
        if isinstance(stmt, For | If) and _holds(stmt, loop):
            if any(loads(x) for x in expressions(stmt)):
                out.append(stmt)
            out += [y for part in blocks_of(stmt) for y in _others(part, loop)]
        else:
            out.append(stmt)
    return out


def _holds(stmt: Stmt, loop: For) -> bool:
    return stmt is loop or any(_holds(x, loop) for part in blocks_of(stmt) for x in part.body)


def _with_first(block: Block, label: int, first: Stmt) -> Block:
    out: list[Stmt] = []
    for stmt in block.body:
        parts = [_with_first(x, label, first) for x in blocks_of(stmt)]
        if isinstance(stmt, For) and stmt.label == label:
            parts = [Block((first, *parts[0].body))]
        out.append(with_blocks(stmt, parts))
    return Block(tuple(out))
