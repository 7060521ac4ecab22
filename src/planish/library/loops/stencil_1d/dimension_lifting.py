"""The 1-D stencil strategy: lanes have segments of the line, or of its tiles (dimension lifting).

A tile is swept over many times before the next one, with so many elements of its neighbours as these sweeps use; what
is made of those is not right, and not copied back. What a tile needs of the one before it is kept from before that
one was swept over (overlapped tiling: Holewinski et al., "High-Performance Code Generation for Stencil Computations
on GPU Architectures", ICS 2012).

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> loop = "for i in 1 .. n - 1 { B[i] = A[i - 1] + A[i + 1] } for i in 1 .. n - 1 { A[i] = B[i] }"
>>> kernel = parse_kernel("kernel k(n; A: f64[n], B: f64[n]) { for t in 0 .. 9 { %s } }" % loop)
>>> [x.name for x in segment_versions(prepare(kernel), load_target("x86-avx2"))]
['stencil-lanes', 'stencil-lanes-tiled']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from planish.core.diagnostic import Remark
from planish.core.names import take_name
from planish.ir.expr import Compare, Const, Expr, Load, index
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, Stmt
from planish.ir.traverse import flatten, substitute_block, used_names
from planish.ir.types import BOOL
from planish.library.loops.stencil_1d.lane_segments import TOGETHER, SegmentGrid, least_length
from planish.library.loops.stencil_1d.line_sweeps import LineArray, Sweeps, find_sweeps
from planish.schedule.arguments import DEFAULTS, Point, TuningArgument, TuningArguments
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.auto.tiling.scalar_replacement import promote
from planish.target.machine import Target

NAME = "stencil-lanes"
"""What the version is called."""
_REPETITIONS = 4
"""Fewer are not worth copies."""
_MOST_TIMES = 256
COLUMNS = TuningArgument("together", (1, 2, 4, 8), TOGETHER, "elements of a lane that are made at a time")
CACHE = TuningArgument("tile", (25, 50, 75, 100, 150, 200, 400), 75, "per cent of the first cache that a tile fills")
SHARE = TuningArgument(
    "share", (4, 8, 16, 32, 64), 16, "so many times more elements has a tile than its sweeps use of each neighbour"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Made:
    """Sweeps in segments: the arrays that they need, what is done, and what has to hold for it."""

    arrays: tuple[Array, ...]
    body: tuple[Stmt, ...]
    conditions: tuple[Expr, ...]


Cut = Callable[[Sweeps, Target, set[str], Point], _Made]


def segment_versions(prepared: Prepared, target: Target, point: Point = DEFAULTS) -> tuple[Version, ...]:
    """The versions of a kernel whose repeated sweeps are in segments, as a point has these; none where there are
    none."""
    kernel, schedule = prepared.kernel, prepared.scop.schedule
    body = [(x, find_sweeps(x)) for x in flatten(kernel.body.body)]
    if not find_lines(kernel, target):
        return ()
    ways: tuple[tuple[str, str, Cut], ...] = (
        (NAME, "a segment for each lane", _cut_line),
        (f"{NAME}-tiled", "by tiles, each with a segment for each lane", _cut_tiles),
    )
    out = []
    for name, what, cut in ways:
        taken = {*used_names(kernel)}
        parts = [
            cut(x, target, taken, point) if x is not None and target.lanes(x.type) > 1 else _Made((), (stmt,), ())
            for stmt, x in body
        ]
        arrays = [x for part in parts for x in part.arrays]
        block = Block((*map(Alloc, arrays), *(x for part in parts for x in part.body)))
        block = promote(block, frozenset(taken), {x.name: x for x in (*kernel.arrays, *arrays)})
        block = simplify_block(block, assumptions=kernel.assumptions)
        asked = [simplify(x) for part in parts for x in part.conditions]
        if Const(False, BOOL) in asked:
            continue
        asked = [x for x in asked if x != Const(True, BOOL)]
        made = replace(kernel, body=block, assumptions=(*kernel.assumptions, *asked))
        remark = Remark(NAME, "done", f"1-D stencil, dimension-lifted: {what}", prepared.scop.kernel.span)
        out.append(Version(name, schedule, made, (remark,), 0.0))
    return tuple(out)


def list_segment_arguments(version: str) -> TuningArguments:
    """What may be tuned of a version."""
    return TuningArguments((COLUMNS,) if version == NAME else (COLUMNS, CACHE, SHARE))


def find_lines(kernel: Kernel, target: Target) -> tuple[Stmt, ...]:
    """The repeated sweeps over lines of elements that a target has lanes for."""
    sweeps = ((x, find_sweeps(x)) for x in flatten(kernel.body.body))
    return tuple(x for x, found in sweeps if found is not None and target.lanes(found.type) > 1)


def _cut_line(found: Sweeps, target: Target, taken: set[str], point: Point) -> _Made:
    """All sweeps over the whole line."""
    lanes = target.lanes(found.type)
    grid = SegmentGrid(found, found.first, found.last, lanes, taken, at_a_time=COLUMNS.number(point))
    body = [x for line in found.lines for x in (grid.clear(line), grid.lift(line, *found.between(line.low, line.high)))]
    body.append(_repeated(found, grid, found.loop.lower, found.loop.upper, taken))
    for line in found.lines:
        if line.sweep is not None:
            body.append(grid.lower(line, *found.between(line.sweep.lower, line.sweep.upper)))
    return _Made(tuple(grid.lifted.values()), tuple(body), _conditions(found, least_length(found, lanes)))


def _repeated(found: Sweeps, grid: SegmentGrid, lower: Expr, upper: Expr, taken: set[str]) -> Stmt:
    """The sweeps of some repetitions."""
    var = take_name(found.loop.var, taken)
    sweeps = Block(tuple(x for sweep in found.sweeps for x in grid.sweep(sweep)))
    return For(var, lower, upper, 1, substitute_block(sweeps, {found.loop.var: index(var)}))


def _conditions(found: Sweeps, length: int) -> tuple[Expr, ...]:
    times = sub(found.loop.upper, found.loop.lower)
    enough = Compare("ge", sub(found.last, found.first), index(length))
    return enough, Compare("ge", times, index(_REPETITIONS))


def _cut_tiles(found: Sweeps, target: Target, taken: set[str], point: Point) -> _Made:
    """Some sweeps over each tile, then over the next one."""
    lanes, size = target.lanes(found.type), found.type.size
    used = sum(found.reach_of(x) for x in found.sweeps)
    # What is kept of a tile, and the ends that are not alike, are in that tile.
    enough = 4 * max(least_length(found, lanes), used + found.reach + found.margin)
    length = max(target.cache(1).bytes * CACHE.number(point) // 100 // (len(found.lines) * size), enough)
    times = max(1, min(_MOST_TIMES, length // (SHARE.number(point) * used)))
    around = times * used
    block, tile, count = (take_name(x, taken) for x in ("block", "tile", "tiles"))
    begin, end, first, last = (take_name(x, taken) for x in ("begin", "end", "first", "last"))
    whole = sub(found.last, found.first)
    bounds = [floordiv(mul(add(index(tile), index(n)), whole), index(count)) for n in range(2)]
    lets = (
        Let(begin, add(found.first, bounds[0])),
        Let(end, add(found.first, bounds[1])),
        Let(first, extremum("max", found.first, sub(index(begin), index(around)))),
        Let(last, extremum("min", found.last, add(index(end), index(around)))),
    )
    largest, together = length + 2 * around, COLUMNS.number(point)
    grid = SegmentGrid(found, index(first), index(last), lanes, taken, largest=largest, at_a_time=together)
    made = [(x, x.sweep) for x in found.lines if x.sweep is not None]
    behind = around + found.reach
    kept = {
        x.array: Array(take_name(f"{x.array}_kept", taken), found.type, (index(behind),), True, "stack")
        for x, _ in made
    }
    body: list[Stmt] = []
    for line in found.lines:
        body += (grid.clear(line), *_lift(grid, line, kept.get(line.array), index(begin)))
    keeping = [_keep(kept[x.array], x.array, sub(index(end), index(behind)), taken) for x, _ in made]
    body.append(If(Compare("lt", index(end), found.last), Block(tuple(keeping))))
    upper = extremum("min", add(index(block), index(times)), found.loop.upper)
    body.append(_repeated(found, grid, index(block), upper, taken))
    for line, sweep in made:
        least, most = found.between(sweep.lower, sweep.upper)
        body.append(grid.lower(line, extremum("max", index(begin), least), extremum("min", index(end), most)))
    tiles = For(tile, index(0), index(count), 1, Block((*lets, *body)))
    blocks = For(block, found.loop.lower, found.loop.upper, times, Block((tiles,)))
    opening = Let(count, floordiv(add(whole, index(length - 1)), index(length)))
    arrays = (*grid.lifted.values(), *kept.values())
    return _Made(arrays, (Block((opening, blocks)),), _conditions(found, 2 * length))


def _keep(kept: Array, array: str, begin: Expr, taken: set[str]) -> Stmt:
    """What copies elements from one on to where they are kept."""
    place = index(var := take_name("place", taken))
    copy = Assign(kept.name, (place,), Load(array, (add(begin, place),), kept.type))
    return For(var, index(0), kept.shape[0] or index(0), 1, Block((copy,)))


def _lift(grid: SegmentGrid, line: LineArray, kept: Array | None, begin: Expr) -> list[Stmt]:
    """What copies a tile with the elements around it to the segments; those before it that sweeps make are `kept`."""
    lower, upper = grid.found.between(line.low, line.high)
    if kept is None:
        return [grid.lift(line, extremum("max", lower, sub(grid.first, index(grid.reach))), upper)]
    behind = Load(kept.name, (index(0),), kept.type)
    earlier = grid.lift(line, sub(grid.first, index(grid.reach)), begin, behind)
    is_first = Compare("eq", begin, grid.found.first)
    return [If(is_first, Block((grid.lift(line, lower, upper),)), Block((earlier, grid.lift(line, begin, upper))))]
