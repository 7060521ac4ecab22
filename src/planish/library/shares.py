"""Loops whose iterations are for threads: each has memory of its own, and they are proven to meet nowhere.

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

from collections.abc import Callable, Sequence
from dataclasses import replace

from planish.core.diagnostic import PlanishError
from planish.core.names import take_name
from planish.ir.expr import Compare, Const, Expr, index
from planish.ir.nest import Alloc, Array, Block, For, If, Kernel
from planish.ir.polynomial import add, constant, extremum, sub
from planish.ir.simplify import simplify
from planish.ir.traverse import bindings, substitute_block
from planish.ir.types import BOOL
from planish.raising.raised import Repeat, Shares, Step
from planish.schedule.nodes import label_kernel, nodes
from planish.schedule.order import check_parallel

GRAIN = 32
"""The parts of a range are multiples of so many rows, or columns: tiles are whole."""
MOST_CELLS = 1 << 15
"""The elements of an array on a thread's stack."""


Range = tuple[Expr, Expr]
"""Where some rows or columns begin, and how many there are."""


def share_out(
    range: Range, threads: int, taken: set[str], steps: Callable[[Range], tuple[Step, ...]], grain: int = GRAIN
) -> tuple[Step, ...]:
    """Steps for some rows or columns, of which each of several threads has a share: a multiple of `grain` but for the
    last one. `taken`: names that loops may not have, and those of the loop afterwards."""
    if threads == 1 or is_at_most(range[1], grain):
        return steps(range)
    width, var = take_name("width", taken), take_name("part", taken)
    end = add(*range)
    part = index(var), extremum("min", index(width), sub(end, index(var)))
    return (Repeat(var, range[0], end, grain, steps(part), Shares(threads, width)),)


def is_at_most(extent: Expr, size: int) -> bool:
    """Whether an extent is known to be so many at most."""
    return simplify(Compare("le", extent, index(size))) == Const(True, BOOL)


def on_threads(loop: For, own: Sequence[Array], around: Kernel) -> For | None:
    """The loop with its iterations on threads and `own` arrays in each; None where these are too large, or iterations
    would meet elsewhere. `around`: the sizes, scalars and other arrays that it uses, and what is known of them."""
    shared = with_own(loop, own)
    return shared if shared is not None and _is_parallel(replace(shared, facts=loop.facts), around) else None


def with_own(loop: For, own: Sequence[Array]) -> For | None:
    """The loop with its iterations on threads and `own` arrays in each, whose iterations are known not to meet; None
    where these are too large."""
    if not all(_is_small(x.shape) for x in own):
        return None
    body = Block((*(Alloc(replace(x, memory="stack")) for x in own), *loop.body.body))
    return replace(loop, body=body, facts=replace(loop.facts, parallel=True))


def are_apart(step: Repeat, body: Block, around: Kernel) -> bool:
    """Whether any two parts of a range meet nowhere: the first one and the second one, of any width, which lie anywhere
    in it. `body`: what is done in a part."""
    assert step.shares is not None
    taken = {*around.sizes, *bindings(body), step.shares.width}
    part, first, second = (take_name(x, taken) for x in ("part", "one", "other"))
    begins, end = (index(first), index(second)), add(index(first), index(step.shares.width))
    known = (
        Compare("le", step.lower, index(first)), Compare("lt", index(first), end), Compare("le", end, index(second)),
        Compare("lt", index(second), step.upper),
    )  # fmt: skip
    both = (
        If(Compare("eq", index(part), index(i)), substitute_block(body, {step.var: x})) for i, x in enumerate(begins)
    )
    loop = For(part, index(0), index(2), 1, Block(tuple(both)))
    sizes = (*around.sizes, step.shares.width, first, second)
    return _is_parallel(loop, replace(around, sizes=sizes, assumptions=(*around.assumptions, *known)))


def _is_parallel(loop: For, around: Kernel) -> bool:
    kernel = label_kernel(replace(around, body=Block((loop,))))
    try:
        check_parallel(kernel, (next(x for x in nodes(kernel.body) if isinstance(x, For)),))
    except PlanishError:
        return False
    return True


def _is_small(shape: Sequence[Expr | None]) -> bool:
    cells = 1
    for extent in shape:
        length = constant(extent) if extent is not None else None
        if length is None:
            return False
        cells *= length
    return cells <= MOST_CELLS
