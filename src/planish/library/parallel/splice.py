"""Splices a version of a part of a kernel into the whole: with thread-private arrays, and its preconditions tested on
the sizes.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> from planish.library.parallel.iteration_ranges import find_range
>>> kernel = parse_kernel("kernel k(n; x: f64[n]) { for i in 1 .. n { x[i] = 0.0 } }")
>>> found = find_range(kernel, reassociate=True)
>>> text = "kernel k(n, low, high; x: f64[n]) assume high - low <= 8 { for i in low .. high { x[i] = 0.0 } }"
>>> import islpy as isl
>>> schedule = isl.Schedule('{ "domain": "{ }" }')
>>> fitted = fit(kernel, found.kernel, (found.limits,), Version("v", schedule, parse_kernel(text), (), 0.0), 2)
>>> print(print_kernel(fitted.finish(fitted.all_of_it(), "v", "").kernel), end="")
kernel k(n; x: f64[n])
  assume n <= 9
{
  if 1 < n {
    let low = 1
    let high = n
    for i in low .. high {
      x[i] = 0.0:f64
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from planish.core.diagnostic import Remark
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.polynomial import coefficient_of, place
from planish.ir.nest import Alloc, Array, Block, If, Kernel, Let, Stmt
from planish.ir.traverse import used_names, variables
from planish.library.parallel.iteration_ranges import IterationLimits
from planish.poly.isl.expression import FALSE, TRUE, conjunction
from planish.schedule.accesses import redirect
from planish.schedule.auto.plan import Version
from planish.schedule.context import throughout


@dataclass(frozen=True, slots=True)
class Fitted:
    """A version of a part of `kernel`, for each of some threads: `allocs` are the arrays that they have, `asked` what
    has to hold of the sizes, `taken` the names that there are."""

    kernel: Kernel
    limits: tuple[IterationLimits, ...]
    candidate: Version
    allocs: tuple[Alloc, ...]
    body: Block
    asked: tuple[Expr, ...]
    taken: set[str]

    def of_thread(self, number: Expr, ends: Sequence[tuple[Expr, Expr]]) -> tuple[Stmt, ...]:
        """The statements for a part, given by where each of its ranges begins and ends, with the arrays of the thread
        of some number."""
        block = self.body
        for alloc in self.allocs:
            block = redirect(block, alloc.array.name, partial(_in_row, alloc.array.name, number))
        names = ((x.low, x.high) for x in self.limits)
        lets = (Let(x, y) for pair in zip(names, ends, strict=True) for x, y in zip(*pair, strict=True))
        return (*lets, *block.body)

    def all_of_it(self) -> tuple[Stmt, ...]:
        """The statements for all that there is, if there is anything."""
        some = conjunction(Compare("lt", x.lower, x.upper) for x in self.limits)
        return (If(some, Block(self.of_thread(index(0), [(x.lower, x.upper) for x in self.limits]))),)

    def finish(self, stmts: Sequence[Stmt], name: str, message: str) -> Version:
        """The version of the whole kernel, of that name, which does some statements."""
        kernel, own = self.kernel, self.candidate.kernel
        arrays = tuple(next(y for y in own.arrays if y.name == x.name) for x in kernel.arrays)
        whole = replace(
            own, sizes=kernel.sizes, arrays=arrays, body=Block((*self.allocs, *stmts)),
            assumptions=(*kernel.assumptions, *self.asked),
        )  # fmt: skip
        remarks = (*self.candidate.remarks, Remark("parallel-chunks", "done", message, kernel.span))
        return replace(self.candidate, name=name, kernel=whole, remarks=remarks)


def fit(
    kernel: Kernel, part: Kernel, limits: tuple[IterationLimits, ...], candidate: Version, threads: int
) -> Fitted | None:
    """A version of a part of a kernel, for the whole of it; None where what it needs to hold, or the size of an array
    of its own, depends on the part in a way that is not known."""
    own, inner = candidate.kernel, {y for x in limits for y in (x.low, x.high)}
    needed = [x for x in own.assumptions if x not in part.assumptions]
    asked = [throughout(part, inner, x) if inner & variables(x) else x for x in needed]
    conditions = tuple(x for x in asked if x is not None and x != TRUE)
    heap = [x.array for x in own.body.body if isinstance(x, Alloc) and x.array.memory in ("dram", "scratch")]
    heap = [x for x in heap if x.shape]
    wider = [_widest(x, limits) for x in heap]
    if None in asked or FALSE in conditions or None in wider:
        return None
    allocs = tuple(Alloc(replace(x, shape=(index(threads), *x.shape))) for x in wider if x is not None)
    body = Block(tuple(x for x in own.body.body if not isinstance(x, Alloc) or x.array not in heap))
    taken = {*used_names(own), *used_names(kernel)}
    return Fitted(kernel, limits, candidate, allocs, body, conditions, taken)


def _widest(array: Array, limits: Sequence[IterationLimits]) -> Array | None:
    """An array that is large enough for any part; None where that is not known."""
    shape: list[Expr] = []
    for extent in array.shape:
        assert extent is not None
        for at in limits:
            for name, value, sign in ((at.low, at.lower, -1), (at.high, at.upper, 1)):
                moved = coefficient_of(extent, name)
                if moved is None or moved[0] * sign < 0:
                    return None
                extent = place(extent, {name: value})
        shape.append(extent)
    return replace(array, shape=tuple(shape))


def _in_row(name: str, number: Expr, at: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
    """An element of the array of a thread."""
    return name, (number, *at)
