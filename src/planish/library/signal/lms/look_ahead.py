"""The LMS strategy: adaptive filters and online linear models by look-ahead over blocks of iterations.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> sum, move = "for k in 0 .. m { y[i] += w[k] * x[i, k] }", "for k in 0 .. m { w[k] += y[i] * x[i, k] }"
>>> arrays = "w: f32[m], x: f32[n, m], y: f32[n]"
>>> kernel = parse_kernel("kernel k(n, m; %s) { for i in 0 .. n { %s %s } }" % (arrays, sum, move))
>>> [x.remarks[0].message for x in lookahead_versions(prepare(kernel), load_target("x86-avx2"))]
['w: block LMS: outputs of 4 iterations are computed before the updates']
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.diagnostic import PlanishError, Remark
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Alloc, Array, Block, Kernel, Stmt
from planish.ir.traverse import map_block, used_names, walk
from planish.library.kernels.vectors import choose_vectors
from planish.library.signal.lms.block_lms import MOST, Blocks
from planish.library.signal.lms.reversed_rows import turn_loop
from planish.schedule.auto.plan import Prepared, Version, as_written
from planish.target.machine import Target

NAME = "lms-block"
"""What the version is called."""
FEW = 4
"""The iterations of the blocks of another one: with many weights, each iteration adds more sums than it saves loads."""


def lookahead_versions(prepared: Prepared, target: Target, most: int = MOST) -> tuple[Version, ...]:
    """The versions of a kernel whose loops that adapt are done by blocks of at most so many iterations, with sums in
    another order; none where there are none, or no instructions for them."""
    if not find_adaptive(prepared.kernel):
        return ()
    kernel = as_written(prepared)
    made = [(name, *_look_ahead(kernel, target, x)) for name, x in ((NAME, most), (f"{NAME}-{FEW}", FEW))]
    return tuple(
        Version(name, prepared.scop.schedule, x, remarks, 0.0)
        for n, (name, x, remarks) in enumerate(made)
        if remarks and all(x != y for _, y, _ in made[:n])
    )


def find_adaptive(kernel: Kernel) -> tuple[Stmt, ...]:
    """The loops whose iterations update weights by what these give."""
    sizes = frozenset(kernel.sizes)
    return tuple(x for x in walk(kernel.body) if turn_loop(x, set(), sizes))


def _look_ahead(kernel: Kernel, target: Target, most: int) -> tuple[Kernel, tuple[Remark, ...]]:
    """The kernel with loops that adapt by blocks of at most so many iterations, and a remark on each."""
    taken, sizes = {*used_names(kernel)}, frozenset(kernel.sizes)
    remarks: list[Remark] = []
    arrays: list[Array] = []

    def visit(stmt: Stmt) -> Stmt:
        turned = turn_loop(stmt, taken, sizes)
        if turned is None:
            return stmt
        found = turned.found
        try:
            vectors = choose_vectors(target, found.type)
        except PlanishError:
            return stmt
        blocks = Blocks(found, vectors, taken, most)
        message = f"{turned.weights}: block LMS: outputs of {blocks.size} iterations are computed before the updates"
        remarks.append(Remark(NAME, "done", message, found.loop.span or kernel.span))
        arrays.extend([turned.array] if turned.array is not None else [])
        return turned.around(blocks.loops())

    body = map_block(visit, kernel.body)
    body = simplify_block(Block((*map(Alloc, arrays), *body.body)), assumptions=kernel.assumptions)
    return replace(kernel, body=body), tuple(remarks)
