"""A loop whose iterations threads take one after the other, each with memory of its own.

>>> from planish.ir.parser import parse_kernel
>>> from planish.ir.printer import print_stmt
>>> from planish.ir.types import F64
>>> head = "kernel k(n; x: f64[n], t: f64[4])"
>>> kernel = parse_kernel(f"{head} {{ for i in 0 .. n {{ t[0] = x[i] x[i] = t[0] + 1.0 }} }}")
>>> loop, (x, t) = kernel.body.body[0], kernel.arrays
>>> print(print_stmt(on_threads(loop, [t], replace(kernel, arrays=(x,)))))
for i in 0 .. n parallel {
  alloc t: f64[4] stack
  t[0] = x[i]
  x[i] = t[0] + 1.0:f64
}
>>> on_threads(loop, [], kernel) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planish.core.diagnostic import PlanishError
from planish.ir.expr import Expr
from planish.ir.nest import Alloc, Array, Block, For, Kernel
from planish.ir.polynomial import constant
from planish.schedule.nodes import label_kernel, nodes
from planish.schedule.order import check_parallel

MOST_CELLS = 1 << 15
"""The elements of an array on a thread's stack."""


def on_threads(loop: For, own: Sequence[Array], around: Kernel) -> For | None:
    """The loop with its iterations on threads and `own` arrays in each; None where these are too large, or iterations
    would meet elsewhere. `around`: the sizes, scalars and other arrays that it uses, and what is known of them."""
    if not all(_is_small(x.shape) for x in own):
        return None
    body = Block((*(Alloc(replace(x, memory="stack")) for x in own), *loop.body.body))
    shared = replace(loop, body=body, facts=replace(loop.facts, parallel=True))
    kernel = label_kernel(replace(around, body=Block((replace(shared, facts=loop.facts),))))
    try:
        check_parallel(kernel, (next(x for x in nodes(kernel.body) if isinstance(x, For)),))
    except PlanishError:
        return None
    return shared


def _is_small(shape: Sequence[Expr | None]) -> bool:
    cells = 1
    for extent in shape:
        length = constant(extent) if extent is not None else None
        if length is None:
            return False
        cells *= length
    return cells <= MOST_CELLS
