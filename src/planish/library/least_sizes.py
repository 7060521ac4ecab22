"""The sizes from which on another form of loops is faster than what a C compiler makes of them as they are written:
below, what comes before the first lanes, and what is left behind the last ones, takes longer than it gains.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> from planish.library.driver import make_versions
>>> from planish.library.registry import STRATEGIES
>>> from planish.target.load import load_target
>>> def asked(loop):
...     text = "kernel k(n, m; q: f64[] distinct, s: f64[n] distinct, a: f64[n, m] distinct) { %s }" % loop
...     cx = Context.of(parse_kernel(text), load_target("x86-avx512"))
...     kernel = with_least_sizes(cx, make_versions(cx, STRATEGIES, 1)).versions[0].kernel
...     return [print_expr(x) for x in kernel.assumptions]
>>> asked("for i in 0 .. n { s[i] = s[i] + 1.0 }"), asked("for i in 0 .. n { q[] += s[i] }")
(['n >= 128'], ['n >= 32'])
>>> asked("for i in 0 .. n { for j in 0 .. m { a[i, j] = a[i, j] * s[i] } }")
['n >= 16', 'm >= 16']
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import inf

import islpy as isl

from planish.ir.accesses import reads
from planish.ir.expr import Compare, Const, Expr, index, type_of
from planish.ir.index.interval import Interval, bounds_where, range_of
from planish.ir.index.polynomial import mul, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Assign, For, Kernel, Reduce
from planish.ir.traverse import loads, variables, walk
from planish.library.driver import MadeVersions
from planish.library.gain import GAIN, cycles_of_version, estimate_as_compiled
from planish.library.strategy import Context
from planish.poly.isl.op_budget import OverBudgetError, within
from planish.schedule.auto.cost.estimate import CostModel
from planish.schedule.auto.plan import ScheduleDraft, Version, cycles_of

LONG = 128
"""The iterations of a loop in lanes that is as fast as written up to then: one or two registers full of bytes, and what
is left of a second or third one."""
SUM = 32
"""The same of sums that compilers make one after the other: lanes are added to each other in the end."""
ROW = 16
"""The iterations of an inner loop of which lanes, or tiles, are full."""
SMALL, MUCH = 10, 2.0
"""Rows and columns of a small matrix, and what tiles have to promise with them."""
IN_LANES = 1.0
"""The cycles of an iteration below which a compiler surely makes lanes of the loop."""


def with_least_sizes(cx: Context, made: MadeVersions, computed: Iterable[tuple[str, Expr]] = ()) -> MadeVersions:
    """The versions, which ask for the iterations from which on they gain: nests that have fewer stay as written.
    `computed`: what some sizes are; nothing is asked that no call has."""
    if cx.nest is None or cx.threads > 1 or not made.versions:
        return made
    try:
        source = within(partial(estimate_as_compiled, cx, cx.nest))
    except (OverBudgetError, isl.Error):
        return made
    nest = cx.nest.kernel
    loops = [x for x in walk(nest.body) if isinstance(x, For)]
    ranges = _ranges(nest, computed)
    versions = []
    for x in made.versions:
        if isinstance(x, Version):
            if not _is_flat(loops):
                enough = _wide(cx, made, x, source, loops)
            else:
                enough = _long(nest, loops, _least(loops, source, cycles_of_version(made, x.name)))
            x = replace(x, kernel=_asking(x.kernel, (y for y in enough if _is_possible(y, ranges))))
        versions.append(x)
    return replace(made, versions=tuple(versions))


def _ranges(nest: Kernel, computed: Iterable[tuple[str, Expr]]) -> dict[Expr, Interval]:
    """Between which numbers sizes are, as far as assumptions tell and what they are computed from."""
    ranges: dict[Expr, Interval] = {}
    for fact in nest.assumptions:
        ranges = bounds_where(fact, {}, ranges)
    for name, value in computed:
        own, (low, high) = index(name), range_of(value, {}, True, ranges)
        least, most = ranges.get(own, (low, high))
        ranges[own] = max(low, least), min(high, most)
    return ranges


def _is_possible(asked: Expr, ranges: Mapping[Expr, Interval]) -> bool:
    """Whether the left side of such a condition may be as large as its right one."""
    assert isinstance(asked, Compare)
    left, right = (range_of(x, {}, True, ranges) for x in (asked.left, asked.right))
    return asked.op != "ge" or left[1] >= right[0]


def _is_flat(loops: list[For]) -> bool:
    return not any(isinstance(y, For) for x in loops for y in walk(x.body))


def _least(loops: list[For], source: float, own: float | None) -> int:
    """The iterations up to which loops are as fast as they are written, by the cycles of these and their own, None for
    strips. Compilers make lanes of all but sums of floats, and add those of integers up in fewer steps; of strips that
    store what they do not read, and add nothing up, the rest is one of fewer elements, and takes no longer. Where that
    is read again, in place, what was stored of it under a mask is waited for."""
    added = [x for along, x in _stores(loops) if not along]
    if not all(isinstance(simplify(x.lower), Const) for x in loops):  # how long they are is in no estimate
        if own is not None and any(type_of(x.value).is_float for x in added):
            return SUM
    elif source >= IN_LANES:
        return SUM if added and own is not None and source >= GAIN * own else 0
    if own is not None:
        return 4 * LONG if added else LONG
    return LONG if added else 2 * LONG if _stores_in_place(loops) else 0


def _stores(loops: list[For]) -> Iterator[tuple[bool, Assign | Reduce]]:
    """What loops without others store, and whether each iteration does so elsewhere."""
    for loop in loops:
        for x in walk(loop.body):
            if isinstance(x, Assign | Reduce):
                yield any(loop.var in variables(e) for e in x.index), x


def _stores_in_place(loops: list[For], inside: Collection[str] = ()) -> int:
    """How many stores are to arrays that are read as well, but for those inside of the nest."""
    read = {x.array for loop in loops for x in reads(loop.body)} - {*inside}
    return sum(along and (isinstance(x, Reduce) or x.array in read) for along, x in _stores(loops))


def _long(nest: Kernel, loops: list[For], least: int) -> Iterator[Expr]:
    """That each of a loop or two beside each other is long."""
    for x in loops if len(loops) <= 2 and least else ():
        yield from _at_least(nest, _length(x), least)


def _asking(kernel: Kernel, asked: Iterable[Expr]) -> Kernel:
    """The kernel, which asks for that as well; less than that is no longer asked for."""
    new = dict.fromkeys(asked)
    bounds = {x.left: x.right.value for x in new if isinstance(x, Compare) and isinstance(x.right, Const)}
    kept = (
        x
        for x in kernel.assumptions
        if not (isinstance(x, Compare) and x.op == "ge" and isinstance(x.right, Const))
        or x.right.value > bounds.get(x.left, -inf)
    )
    return replace(kernel, assumptions=(*dict.fromkeys((*kept, *new)),))


def _wide(cx: Context, made: MadeVersions, version: Version, source: float, loops: list[For]) -> Iterator[Expr]:
    """That the rows of loops in loops are long, and where tiles go through rows, or lanes through columns, that there
    are as many rows; that there are some elements at all."""
    assert cx.nest is not None
    nest, own = cx.nest.kernel, cycles_of_version(made, version.name)
    draft = made.makers[version.name].found
    blocked = isinstance(draft, ScheduleDraft) and version.name == draft.policy.name and _needs_rows(cx, draft)
    lengths = {
        x.left
        for x in version.kernel.assumptions
        if isinstance(x, Compare) and x.op == "ge" and x.right not in (index(0), index(1))
    }
    inside = {x.array.name for x in walk(nest.body) if isinstance(x, Alloc)}
    for outer, inner in ((x, y) for x in loops for y in x.body.body if isinstance(y, For) and _is_flat([*_inside(y)])):
        if blocked:
            yield from (y for x in (outer, inner) for y in _at_least(nest, _length(x), ROW))
        elif own is not None and source < GAIN * own:
            yield from _at_least(nest, _length(inner), ROW)
        elif own is None and (stores := _stores_in_place([inner], inside)):
            # The rows behind wait for what is stored under a mask at the end of one.
            yield from _at_least(nest, _length(inner), (2 if stores == 1 else 3) * LONG)
        elif len(loops) == 2 and _length(inner) not in lengths:
            yield from _at_least(nest, mul(_length(outer), _length(inner)), LONG // 2)


def _needs_rows(cx: Context, draft: ScheduleDraft) -> bool:
    """Whether bands of two loops have lanes along the outer one, or tiles that gain little in few rows and columns."""
    assert cx.nest is not None
    bands = [(band, plan) for _, band, plan in draft.bands if len(band.members) > 1]
    if any(len(band.members) > 2 for band, _ in bands) or draft.shaped is None:
        return False
    if any(plan.has_lanes and plan.lanes_member < len(band.members) - 1 for band, plan in bands):
        return True
    if not any(any(plan.tiles) for _, plan in bands):
        return False
    small = replace(cx, sizes={x: min(SMALL, cx.sizes.get(x, SMALL)) for x in cx.nest.kernel.sizes})
    own = cycles_of(CostModel(cx.nest.scop, cx.target, small.sizes), draft.shaped[0])
    return estimate_as_compiled(small, cx.nest) < MUCH * own


def _inside(loop: For) -> Iterator[For]:
    yield loop
    yield from (x for x in walk(loop.body) if isinstance(x, For))


def _length(loop: For) -> Expr:
    return sub(loop.upper, loop.lower)


def _at_least(nest: Kernel, count: Expr, least: int) -> Iterator[Expr]:
    """That there are so many, where sizes tell."""
    enough = simplify(Compare("ge", count, index(least)))
    if not isinstance(enough, Const) and not loads(enough) and variables(enough) <= {*nest.sizes}:
        yield enough
