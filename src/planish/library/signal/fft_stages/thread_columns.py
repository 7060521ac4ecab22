"""Work-sharing of FFT stages: independent butterfly columns are distributed over threads, or the parts of a row where
there are few.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.library.signal.fft_stages.butterfly_columns import read_columns
>>> from planish.library.signal.fft_stages.column_loops import write_rows
>>> stage = "for i in 0 .. s { for j in 0 .. h { a[2 * h * i + j] = a[2 * h * i + j + h] } }"
>>> kernel = parse_kernel("kernel k(h, s; a: f32[?]) { %s }" % stage)
>>> columns = read_columns(kernel, "h", "s")
>>> made = share_columns(write_rows(kernel, columns), columns, 2)
>>> print(print_stmt(made.body.body[0].then.body[0]), end="")
if s >= 2 {
  for o in 0 .. s parallel {
    for p in 0 .. h simd {
      alloc a0: f32[] distinct register
      alloc a1: f32[] distinct register
      a1[] = a[2 * h * o + h + p]
      a0[] = a1[]
      a[2 * h * o + p] = a0[]
    }
  }
} else {
  for o in 0 .. s {
    for part in 0 .. 2 parallel {
      let low = min(16 * ((h + 15) // 16 * part // 2), h)
      let high = min(16 * (((h + 15) // 16 * part + (h + 15) // 16) // 2), h)
      for p in low .. high simd {
        alloc a0: f32[] distinct register
        alloc a1: f32[] distinct register
        a1[] = a[2 * h * o + h + p]
        a0[] = a1[]
        a[2 * h * o + p] = a0[]
      }
    }
  }
}
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from planish.core.names import take_name
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.polynomial import add, extremum, floordiv, mul
from planish.ir.nest import Block, For, If, Kernel, Let, LoopFacts, Stmt
from planish.ir.traverse import used_names
from planish.library.parallel.thread_threshold import WORTH, with_starts
from planish.library.parallel.work_estimate import estimate
from planish.library.signal.fft_stages.butterfly_columns import ButterflyColumns

GRAIN = 16
"""Columns side by side are given out by multiples of so many: registers are full, and lines of the cache whole."""
_TIMES = 2
"""Threads exchange what they have in their caches from one kernel to the next one, which takes so much more to be worth
it."""


def share_columns(kernel: Kernel, columns: ButterflyColumns, threads: int) -> Kernel:
    """A kernel of stages whose columns several threads share where there is enough to do; as it is where loops over
    other columns are around."""
    work = estimate(kernel.body)
    if threads == 1 or columns.outer or work is None:
        return kernel
    taken = {*used_names(kernel)}
    before = [*takewhile(lambda x: not isinstance(x, For), kernel.body.body)]
    first, *others = kernel.body.body[len(before) :]
    assert isinstance(first, For)
    over: Stmt = replace(first, facts=LoopFacts(parallel=True))
    match first.body.body:
        case (For(var=columns.place) as along,):
            few = replace(first, body=Block((_share_row(along, threads, taken),)))
            over = If(Compare("ge", first.upper, index(threads)), Block((over,)), Block((few,)))
        case _:
            pass
    return with_starts(replace(kernel, body=Block((*before, over, *others))), work, _TIMES * WORTH)


def _share_row(along: For, threads: int, taken: set[str]) -> For:
    """A loop along a row of columns, of which each thread does a part."""
    part, low, high = (take_name(x, taken) for x in ("part", "low", "high"))
    grains = floordiv(add(along.upper, index(GRAIN - 1)), index(GRAIN))

    def end(number: Expr) -> Expr:
        return extremum("min", mul(index(GRAIN), floordiv(mul(number, grains), index(threads))), along.upper)

    lets = (Let(low, end(index(part))), Let(high, end(add(index(part), index(1)))))
    inner = replace(along, lower=index(low), upper=index(high))
    return For(part, index(0), index(threads), 1, Block((*lets, inner)), LoopFacts(parallel=True))
