"""Inter-nest tiling: consecutive nests over one array run together by blocks of rows, while these are in cache.

Before: for i, j { S1 uses A[i, j] };  for i, j { S2 uses A[j, i] }
After:  for each block of rows { for i, j { S1 in these rows };  for j, i { S2 in these rows } }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.dependence import find_order
>>> from planish.poly.scop.extraction import extract_scop
>>> from planish.schedule.auto.rewrites.loop_fission import merge_bands
>>> nests = ("for i in 0 .. n { for j in 0 .. n { " + x + " } }" for x in ("x[i] += A[i, j]", "y[i] += A[j, i]"))
>>> scop = extract_scop(parse_kernel("kernel k(n; A: f64[n, n], x: f64[n], y: f64[n]) { " + " ".join(nests) + " }"))
>>> order = find_order(scop)
>>> schedule = block_passes(scop, order, merge_bands(scop.schedule, order))
>>> band = schedule.get_root().get_child(0)
>>> print(band.band_get_partial_schedule().get_at(0))
[n] -> { S0[i, j] -> [(i - (i) mod 8)]; S1[i, j] -> [(j - (j) mod 8)] }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from planish.poly.isl.schedule_tree import SEQUENCES, Kind, find_node, find_paths, kind_of
from planish.poly.scop.extraction import Scop
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto.tiling.band import Band, read_band
from planish.schedule.auto.tiling.strip_mining import floor_of
from planish.schedule.auto.tiling.tile_sizes import JAM_ONE

ROWS = JAM_ONE[0]
"""The rows of a block: as many as stay in registers together."""

Run = tuple[int, tuple[int, ...]]
"""Parts of a sequence that follow each other: the first one, and for each the member of its band that goes through the
rows."""


def block_passes(scop: Scop, order: isl.UnionMap, schedule: isl.Schedule) -> isl.Schedule | None:
    """The schedule with a loop over blocks of rows around nests that go through one array, wherever that is legal; None
    where there are no such nests."""
    blocked = False
    for path in find_paths(schedule.get_root(), lambda x: kind_of(x) in SEQUENCES):
        # Paths to the deeper ones come first, so that a change leaves those that follow in place.
        node = find_node(schedule, path)
        for first, members in reversed(find_runs([_rows(scop, order, x) for x in _parts(node)])):
            changed = _block(find_node(schedule, path), first, members)
            if find_violation(schedule_map(changed), order) is None:
                schedule, blocked = changed, True
    return schedule if blocked else None


def find_runs(parts: Sequence[Mapping[str, int]]) -> list[Run]:
    """Runs of at least two parts that go through one array, of which each part says by which member it does.

    >>> find_runs([{"x": 0}, {"A": 0}, {"A": 1, "B": 0}, {"B": 0}])
    [(1, (0, 1))]
    """
    out: list[Run] = []
    begin = 0
    while begin < len(parts):
        shared, end = set(parts[begin]), begin + 1
        while end < len(parts) and shared & set(parts[end]):
            shared &= set(parts[end])
            end += 1
        if end > begin + 1:
            array = min(shared)
            out.append((begin, tuple(x[array] for x in parts[begin:end])))
        begin = end
    return out


def _parts(node: isl.ScheduleNode) -> list[isl.ScheduleNode]:
    """What is below the filters of a sequence."""
    return [node.get_child(i).get_child(0) for i in range(node.n_children())]


def _rows(scop: Scop, order: isl.UnionMap, node: isl.ScheduleNode) -> dict[str, int]:
    """The arrays that a nest goes through once, with the member of its band that goes from row to row."""
    if kind_of(node) != Kind.band or node.band_n_member() < 2:
        return {}
    return _streamed(read_band(node, scop, order, isl.UnionMap.empty(order.get_space())))


def _streamed(band: Band) -> dict[str, int]:
    out: dict[str, int] = {}
    for motion in band.motions:
        along = [m for m, step in enumerate(motion.steps) if step and step[0]]
        if len(along) == 1 and all(map(any, motion.steps)):
            out.setdefault(motion.access.array, along[0])
    return out


def _block(node: isl.ScheduleNode, first: int, members: Sequence[int]) -> isl.Schedule:
    """The tree with some parts of the sequence at `node` in a loop over blocks."""
    last = first + len(members) - 1
    filters = [node.get_child(i).filter_get_filter() for i in range(node.n_children())]
    grouped = [*filters[:first], _union(filters[first : last + 1]), *filters[last + 1 :]]
    if len(grouped) > 1:
        parts = isl.UnionSetList.alloc(node.get_ctx(), len(grouped))
        for part in grouped:
            parts = parts.add(part)
        node = node.insert_sequence(parts).get_child(first).get_child(0)
    values = [
        part.band_get_partial_schedule().get_at(m).intersect_domain(part.get_universe_domain())
        for part, m in zip(_parts(node), members, strict=True)
    ]
    rows = values[0]
    for value in values[1:]:
        rows = rows.union_add(value)
    return node.insert_partial_schedule(isl.MultiUnionPwAff.from_union_pw_aff(floor_of(rows, ROWS))).get_schedule()


def _union(sets: Sequence[isl.UnionSet]) -> isl.UnionSet:
    out = sets[0]
    for part in sets[1:]:
        out = out.union(part)
    return out
