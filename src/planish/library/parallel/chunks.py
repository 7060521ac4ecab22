"""Parallel chunks: each thread runs a single-thread version on its own chunk of the iterations, with private arrays;
small problems run on one thread.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.schedule.auto.plan import plan, prepare
>>> from planish.target.load import load_target
>>> text = "kernel k(n; A: f64[n] distinct, B: f64[n] distinct) { for i in 0 .. n { B[i] = A[i] + 1.0 } }"
>>> prepared, target = prepare(parse_kernel(text)), load_target("generic")
>>> made, _ = portion_versions(prepared, lambda x: plan(x, target, reassociate=True, most=1), 2, reassociate=True)
>>> print(print_stmt(made.kernel.body.body[0]), end="")
if n >= 2 && 3 * n >= 1048576 {
  for part in 0 .. 2 parallel {
    let low = min(8 * ((n + 7) // 8 * part // 2), n)
    let high = min(8 * (((n + 7) // 8 * part + (n + 7) // 8) // 2), n)
    for i in low .. high simd {
      B[i] = A[i] + 1.0:f64
    }
  }
} else if 0 < n {
  let low = 0
  let high = n
  for i in low .. high simd {
    B[i] = A[i] + 1.0:f64
  }
}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from planish.core.names import take_name
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Block, For, If, Kernel, LoopFacts
from planish.library.parallel.iteration_ranges import IterationRange, find_range
from planish.library.parallel.splice import fit
from planish.library.parallel.thread_threshold import WORTH
from planish.library.parallel.work_estimate import estimate
from planish.poly.isl.expression import conjunction
from planish.schedule.auto.plan import Prepared, Version, analyse, as_written


def portion_versions(
    prepared: Prepared, versions: Callable[[Prepared], Sequence[Version]], threads: int, *, reassociate: bool,
    written: bool = True, scratch: Collection[str] = (),
) -> tuple[Version, ...]:
    """The versions of a kernel in which each of several threads runs one of those for one thread; none where no loop
    of it is found to be one whose iterations are independent. `written`: among them the one in the order as written.
    `scratch`: arrays of which nothing is read behind the kernel."""
    found = find_range(prepared.kernel, reassociate=reassociate, scratch=scratch)
    work = estimate(prepared.kernel.body)
    if found is None or work is None:
        return ()
    part = analyse(found.kernel, prepared.declared)
    # Compilers may make more of the loops as they are written than of those in another order.
    as_it_is = Version("unchanged", part.scop.schedule, as_written(part), (), 0.0)
    every = (*versions(part), *((as_it_is,) if written else ()))
    made = (_shared(prepared.kernel, found, x, work, threads) for x in every)
    return tuple(x for x in made if x is not None)


def _shared(kernel: Kernel, found: IterationRange, candidate: Version, work: Expr, threads: int) -> Version | None:
    """A version of a range as one of the whole kernel; None as of `fit`."""
    fitted = fit(kernel, found.kernel, (found.limits,), candidate, threads)
    if fitted is None:
        return None
    lower, upper, part = found.limits.lower, found.limits.upper, take_name("part", fitted.taken)
    count = simplify(floordiv(add(sub(upper, lower), index(found.step - 1)), index(found.step)))
    first, end = (_end(found, count, x, threads) for x in (index(part), add(index(part), index(1))))
    each = Block(fitted.of_thread(index(part), [(first, end)]))
    loop = For(part, index(0), index(threads), 1, each, LoopFacts(parallel=True, reductions=found.sums))
    enough = conjunction([Compare("ge", count, index(threads)), Compare("ge", work, index(WORTH))])
    choice = If(enough, Block((loop,)), Block(fitted.all_of_it()))
    loops = " and ".join(f"`{x}`" for x in dict.fromkeys(found.loops))
    message = f"each of {threads} threads has a chunk of the iterations of {loops}, from {WORTH} operations on"
    stmts = (*found.shared, *found.before, choice, *found.after)
    return fitted.finish(stmts, f"{candidate.name}, parallel-chunks", message)


def _end(found: IterationRange, count: Expr, number: Expr, threads: int) -> Expr:
    """Where the portion of some number begins."""
    grains = floordiv(add(count, index(found.grain - 1)), index(found.grain))
    share = mul(floordiv(mul(number, grains), index(threads)), index(found.step * found.grain))
    end = add(found.limits.lower, share)
    return end if found.step * found.grain == 1 else extremum("min", end, found.limits.upper)
