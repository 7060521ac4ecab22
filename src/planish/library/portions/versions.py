"""Versions for several threads that are made of those for one: each thread runs such a version for its own portion of
the iterations, with local arrays of its own; where there is little to do, one thread runs it for all of them.

>>> from planish.ir.parser import parse_kernel
>>> from planish.ir.printer import print_stmt
>>> from planish.schedule.automatic.plan import plan, prepare
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

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from planish.core.diagnostic import Remark
from planish.core.names import take_name
from planish.ir.expr import Compare, Expr, index
from planish.ir.nest import Alloc, Array, Block, For, If, Kernel, Let, LoopFacts, Stmt
from planish.ir.polynomial import add, coefficient_of, extremum, floordiv, mul, place, sub
from planish.ir.simplify import simplify
from planish.ir.traverse import used_names, variables
from planish.library.portions.effort import estimate
from planish.library.portions.ranges import Range, find_range
from planish.library.portions.starts import WORTH
from planish.poly.expression import FALSE, TRUE, conjunction
from planish.schedule.accesses import redirect
from planish.schedule.automatic.plan import Candidate, Prepared, analyse, as_written
from planish.schedule.reach import throughout


def portion_versions(
    prepared: Prepared, versions: Callable[[Prepared], Sequence[Candidate]], threads: int, *, reassociate: bool,
    written: bool = True,
) -> tuple[Candidate, ...]:
    """The versions of a kernel in which each of several threads runs one of those for one thread; none where no loop
    of it is found to be one whose iterations are independent. `written`: among them the one in the order as written."""
    found = find_range(prepared.kernel, reassociate=reassociate)
    work = estimate(prepared.kernel.body)
    if found is None or work is None:
        return ()
    part = analyse(found.kernel)
    # Compilers may make more of the loops as they are written than of those in another order.
    as_it_is = Candidate("as written", part.scop.schedule, as_written(part), (), 0.0)
    every = (*versions(part), *((as_it_is,) if written else ()))
    made = (_shared(prepared.kernel, found, x, work, threads) for x in every)
    return tuple(x for x in made if x is not None)


def _shared(kernel: Kernel, found: Range, candidate: Candidate, work: Expr, threads: int) -> Candidate | None:
    """A version of a range as one of the whole kernel; None where what it needs to hold, or the size of an array of
    its own, depends on the range in a way that is not known."""
    own, both = candidate.kernel, {found.low, found.high}
    needed = [x for x in own.assumptions if x not in found.kernel.assumptions]
    asked = [throughout(found.kernel, both, x) if both & variables(x) else x for x in needed]
    conditions = tuple(x for x in asked if x is not None and x != TRUE)
    heap = [x.array for x in own.body.body if isinstance(x, Alloc) and x.array.memory in ("dram", "scratch")]
    heap = [x for x in heap if x.shape]
    wider = [_widest(x, found) for x in heap]
    if None in asked or FALSE in conditions or not all(wider):
        return None
    taken = {*used_names(own), *used_names(kernel)}
    part = take_name("part", taken)
    body = Block(tuple(x for x in own.body.body if not isinstance(x, Alloc) or x.array not in heap))
    count = simplify(floordiv(add(sub(found.upper, found.lower), index(found.step - 1)), index(found.step)))
    ends = (_end(found, count, x, threads) for x in (index(part), add(index(part), index(1))))
    each = (*(Let(x, y) for x, y in zip((found.low, found.high), ends, strict=True)), *_moved(body, heap, index(part)))
    all_ = (Let(found.low, found.lower), Let(found.high, found.upper), *_moved(body, heap, index(0)))
    loop = For(part, index(0), index(threads), 1, Block(each), LoopFacts(parallel=True, reductions=found.sums))
    enough = conjunction([Compare("ge", count, index(threads)), Compare("ge", work, index(WORTH))])
    allocs = [Alloc(replace(x, shape=(index(threads), *x.shape))) for x in wider if x is not None]
    alone = If(Compare("lt", found.lower, found.upper), Block(all_))
    stmts = (*allocs, *found.shared, *found.before, If(enough, Block((loop,)), Block((alone,))), *found.after)
    arrays = tuple(next(y for y in own.arrays if y.name == x.name) for x in kernel.arrays)
    whole = replace(
        own, sizes=kernel.sizes, arrays=arrays, body=Block(stmts), assumptions=(*kernel.assumptions, *conditions)
    )
    loops = " and ".join(f"`{x}`" for x in dict.fromkeys(found.loops))
    message = f"each of {threads} threads has a portion of the iterations of {loops}, from {WORTH} operations on"
    remarks = (*candidate.remarks, Remark("portions", "done", message, kernel.span))
    return replace(candidate, name=f"{candidate.name}, in portions", kernel=whole, remarks=remarks)


def _end(found: Range, count: Expr, number: Expr, threads: int) -> Expr:
    """Where the portion of some number begins."""
    grains = floordiv(add(count, index(found.grain - 1)), index(found.grain))
    share = mul(floordiv(mul(number, grains), index(threads)), index(found.step * found.grain))
    end = add(found.lower, share)
    return end if found.step * found.grain == 1 else extremum("min", end, found.upper)


def _widest(array: Array, found: Range) -> Array | None:
    """An array that is large enough for any range; None where that is not known."""
    shape: list[Expr] = []
    for extent in array.shape:
        assert extent is not None
        for name, value in ((found.low, found.lower), (found.high, found.upper)):
            moved = coefficient_of(extent, name)
            if moved is None or (moved[0] < 0 if name == found.high else moved[0] > 0):
                return None
            extent = place(extent, {name: value})
        shape.append(extent)
    return replace(array, shape=tuple(shape))


def _moved(block: Block, heap: Sequence[Array], number: Expr) -> tuple[Stmt, ...]:
    """Statements with the arrays of a portion of some number in the place of their own."""
    for array in heap:
        block = redirect(block, array.name, partial(_in_row, array.name, number))
    return block.body


def _in_row(name: str, number: Expr, at: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
    """An element of the array of a portion."""
    return name, (number, *at)
