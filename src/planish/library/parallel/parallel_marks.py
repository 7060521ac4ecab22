"""Marks loops of a finished version as parallel where dependence analysis proves their iterations independent.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel k(n; x: f64[n, n]) { for b in 0 .. n { for i in 1 .. n { x[i, b] = x[i - 1, b] } } }"
>>> print(print_stmt(mark_threads(parse_kernel(text)).body.body[0]), end="")
for b in 0 .. n parallel {
  for i in 1 .. n {
    x[i, b] = x[i - 1, b]
  }
}
>>> mark_threads(parse_kernel(text.replace("b] = x[i - 1, b]", "0] = x[i - 1, b]"))) is None
True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from planish.core.diagnostic import PlanishError, Remark
from planish.ir.nest import Block, For, Kernel, Stmt
from planish.ir.traverse import blocks_of, map_block, walk
from planish.schedule.auto.plan import Version
from planish.schedule.auto.tiling.parallel_loops import MOST_OUTER
from planish.schedule.legality import check_parallel
from planish.schedule.nodes import label_kernel, path_to


def marked_versions(candidates: Sequence[Version]) -> tuple[Version, ...]:
    """Those versions of which threads may share the work, with the loops that they share."""
    out = []
    for candidate in candidates:
        kernel = mark_threads(candidate.kernel)
        if kernel is not None:
            message = "threads share the outermost loops whose iterations are proven independent"
            remark = Remark("parallel-loops", "done", message, kernel.span)
            name = f"{candidate.name}, parallel-loops"
            out.append(replace(candidate, name=name, kernel=kernel, remarks=(*candidate.remarks, remark)))
    return tuple(out)


def spread(candidates: Sequence[Version], threads: int) -> tuple[Version, ...]:
    """Versions for one thread as they are, or where there are several, those whose work these may share."""
    return tuple(candidates) if threads == 1 else marked_versions(candidates)


def has_threads(candidate: Version) -> bool:
    """Whether there are threads in a version, or in the kernels that it calls."""
    kernels = [candidate.kernel, *(x.implementation for x in candidate.catalogue.instructions.values())]
    return any(isinstance(x, For) and x.facts.parallel for k in kernels if k is not None for x in walk(k.body))


def mark_threads(kernel: Kernel) -> Kernel | None:
    """The kernel with the outermost loops on threads whose iterations use no cell together, of which one writes; not
    those with fewer loops in each other than there are elsewhere. None where there are none."""
    labelled = label_kernel(kernel)
    found = {*_independent(labelled, labelled.body, 0, _depth(labelled.body))}

    def visit(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For) and stmt.label in found:
            return replace(stmt, facts=replace(stmt.facts, parallel=True))
        return stmt

    return replace(labelled, body=map_block(visit, labelled.body)) if found else None


def _independent(kernel: Kernel, block: Block, around: int, depth: int) -> Iterator[int]:
    """The labels of independent loops in a block, which have at least `depth` loops in each other."""
    for stmt in block.body:
        if not isinstance(stmt, For):
            yield from (x for part in blocks_of(stmt) for x in _independent(kernel, part, around, depth))
        elif 1 + _depth(stmt.body) >= depth:
            if not stmt.facts.simd and not stmt.facts.instruction and _is_independent(kernel, stmt):
                yield stmt.label
            elif around < MOST_OUTER:
                yield from _independent(kernel, stmt.body, around + 1, depth - 1)


def _is_independent(kernel: Kernel, loop: For) -> bool:
    try:
        check_parallel(kernel, path_to(kernel.body, loop.label))
    except PlanishError:
        return False
    return True


def _depth(block: Block) -> int:
    """How many loops are in each other in a block."""
    parts = (isinstance(x, For) + max(map(_depth, blocks_of(x)), default=0) for x in block.body)
    return max(parts, default=0)
