"""Wavefront parallelism on threads: columns are shared out, and threads further right work on rows further up.

A part of the nest is some rows of some columns. If no iteration waits for one in a later row, or in a column further
right, those parts are independent that have neither a row nor columns in common, and lie along a diagonal.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.schedule.auto.plan import prepare
>>> nest = "for i in 1 .. n { for j in 1 .. m { x[i, j] = max(x[i - 1, j], x[i, j - 1]) } }"
>>> prepared = prepare(parse_kernel(f"kernel k(n, m; x: i32[n, m]) {{ {nest} }}"))
>>> as_they_are = lambda x: [Version("unchanged", x.scop.schedule, x.kernel, (), 0.0)]
>>> (made,) = grid_versions(prepared, as_they_are, 2)
>>> print(print_stmt(made.kernel.body.body[0].then), end="")
{
  for wave in 0 .. (n + 62) // 64 + 1 {
    for part in 0 .. 2 parallel {
      let block = wave - part
      if block >= 0 && block < (n + 62) // 64 {
        let low = 64 * block + 1
        let high = min(64 * block + 65, n)
        let left = (m * part - part) // 2 + 1
        let right = (m * part - part + m - 1) // 2 + 1
        for i in low .. high {
          for j in left .. right {
            x[i, j] = max(x[i - 1, j], x[i, j - 1])
          }
        }
      }
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from planish.core.names import take_name
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.nest import Alloc, Block, For, If, Kernel, Let, LoopFacts
from planish.ir.traverse import used_names
from planish.library.parallel.iteration_ranges import OPERATIONS, IterationLimits, is_part, loops_to_choose
from planish.library.parallel.splice import fit
from planish.library.parallel.thread_threshold import WORTH
from planish.library.parallel.work_estimate import estimate
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.expression import conjunction
from planish.poly.isl.op_budget import budget
from planish.poly.scop.dependence import find_order, together
from planish.poly.scop.extraction import Scop, extract_scop
from planish.schedule.auto.plan import Prepared, Version, analyse

ROWS = 64
"""The rows of a part."""


@dataclass(frozen=True, slots=True)
class WavefrontGrid:
    """A nest for some of its rows and some of its columns."""

    kernel: Kernel
    rows: IterationLimits
    columns: IterationLimits


def grid_versions(
    prepared: Prepared, versions: Callable[[Prepared], Sequence[Version]], threads: int
) -> tuple[Version, ...]:
    """The versions of a kernel in which threads share its columns, and each runs one of those for one thread on some
    rows at a time; none where the kernel is no such nest."""
    found, work = find_grid(prepared.kernel), estimate(prepared.kernel.body)
    if found is None or work is None:
        return ()
    part = analyse(found.kernel, prepared.declared)
    made = (_shared(prepared.kernel, found, x, work, threads) for x in versions(part))
    return tuple(x for x in made if x is not None)


def find_grid(kernel: Kernel) -> WavefrontGrid | None:
    """The nest that a kernel is, for some of its rows and columns, if nothing waits for what is below it or to the
    right of it, and local arrays hold nothing from one iteration to another; None where it is another one, or that is
    not known."""
    allocs = tuple(x for x in kernel.body.body if isinstance(x, Alloc))
    others = [x for x in kernel.body.body if not isinstance(x, Alloc)]
    loops = loops_to_choose(others[0], kernel) if len(others) == 1 and isinstance(others[0], For) else []
    if len(loops) < 2 or any(x.step != 1 for x in loops[:2]):
        return None
    taken, (outer, inner, *_) = {*used_names(kernel)}, loops
    low, high, left, right = (take_name(x, taken) for x in ("low", "high", "left", "right"))
    rows, columns = (
        IterationLimits(low, high, outer.lower, outer.upper),
        IterationLimits(left, right, inner.lower, inner.upper),
    )
    narrow = replace(inner, lower=index(left), upper=index(right))
    nest = replace(outer, lower=index(low), upper=index(high), body=Block((narrow,)))
    known = [
        Compare("le", x, y) for at in (rows, columns)
        for x, y in ((at.lower, index(at.low)), (index(at.low), index(at.high)), (index(at.high), at.upper))
    ]  # fmt: skip
    part = replace(
        kernel, sizes=(*kernel.sizes, low, high, left, right), body=Block((*allocs, nest)),
        assumptions=(*kernel.assumptions, *known),
    )  # fmt: skip
    try:
        with budget(isl.DEFAULT_CONTEXT, OPERATIONS):
            scop = extract_scop(kernel)
            wanted = [(x, ((0, rows), (1, columns))) for x in scop.statements]
            own = find_order(_through(scop, {x.array.name for x in allocs})).is_subset(together(scop, 2))
            if own and find_order(scop).is_subset(_onwards(scop)) and is_part(part, wanted):
                return WavefrontGrid(part, rows, columns)
    except (NotAffineError, isl.Error):
        pass
    return None


def _through(scop: Scop, arrays: set[str]) -> Scop:
    """The statements with what they do with some arrays."""
    cut = (replace(x, accesses=tuple(y for y in x.accesses if y.array in arrays)) for x in scop.statements)
    return replace(scop, statements=tuple(cut))


def _onwards(scop: Scop) -> isl.UnionMap:
    """The pairs of instances of which the second one is in no earlier row, and in no column further left."""
    out = isl.UnionMap.empty(scop.context.get_space())
    for first in scop.statements:
        for second in scop.statements:
            pairs = isl.Map.from_domain_and_range(first.domain, second.domain)
            for depth in range(2):
                at = first.domain.get_space(), second.domain.get_space()
                later = isl.Map.universe(at[0].map_from_domain_and_range(at[1]))
                pairs = pairs.intersect(later.order_le(isl.dim_type.in_, depth, isl.dim_type.out, depth))
            out = out.add_map(pairs)
    return out


def _shared(kernel: Kernel, found: WavefrontGrid, candidate: Version, work: Expr, threads: int) -> Version | None:
    """A version of some rows and columns as one of the whole nest; None as of `fit`."""
    fitted = fit(kernel, found.kernel, (found.rows, found.columns), candidate, threads)
    if fitted is None:
        return None
    wave, part, block = (take_name(x, fitted.taken) for x in ("wave", "part", "block"))
    rows, columns = found.rows, found.columns
    count = floordiv(add(sub(rows.upper, rows.lower), index(ROWS - 1)), index(ROWS))
    first = add(rows.lower, mul(index(ROWS), index(block)))
    width = sub(columns.upper, columns.lower)
    cuts = [
        add(columns.lower, floordiv(mul(number, width), index(threads)))
        for number in (index(part), add(index(part), index(1)))
    ]
    ends = (first, extremum("min", add(first, index(ROWS)), rows.upper)), (cuts[0], cuts[1])
    there = conjunction([Compare("ge", index(block), index(0)), Compare("lt", index(block), count)])
    body = Block((Let(block, sub(index(wave), index(part))), If(there, Block(fitted.of_thread(index(part), ends)))))
    along = For(part, index(0), index(threads), 1, body, LoopFacts(parallel=True))
    waves = add(count, index(threads - 1))
    over = For(wave, index(0), waves, 1, Block((along,)))
    tests = [Compare("gt", sub(rows.upper, rows.lower), index(ROWS)), Compare("ge", width, index(threads))]
    enough = conjunction([*tests, Compare("ge", work, mul(index(WORTH // 2), waves))])
    message = f"wavefront of {threads} threads: each has a chunk of the columns, {ROWS} rows at a time"
    choice = If(enough, Block((over,)), Block(fitted.all_of_it()))
    return fitted.finish((choice,), f"{candidate.name}, parallel-wavefront", message)
