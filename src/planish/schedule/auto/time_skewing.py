"""Time skewing: repeated sweeps over arrays follow each other closely, so that a later one reads rows while they are in
cache.

Before: for t { for i { row i of B from rows of A };  for i { row i of A from rows of B } }
After:  for blocks of t { for r { for t in the block { row r - 2 t of B;  row r - 2 t - 1 of A } } }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.dependence import find_order
>>> from planish.poly.scop.extraction import extract_scop
>>> nest = "for t in 0 .. s { for i in 1 .. n { for j in 1 .. n - 1 { A[i, j] += A[i - 1, j] + A[i, j - 1] } } }"
>>> scop = extract_scop(parse_kernel("kernel k(s, n; A: f64[n, n]) { " + nest + " }"))
>>> bands = follow_sweeps(scop, find_order(scop), 1 << 20).get_root().get_child(0)
>>> print(bands.get_child(0).band_get_partial_schedule().get_at(0))
[s, n] -> { S0[t, i, j] -> [(t + i)] }
"""

from __future__ import annotations

from functools import reduce
from math import prod

import islpy as isl

from planish.ir.index.polynomial import constant
from planish.ir.traverse import variables
from planish.poly.isl.schedule_tree import SEQUENCES, Kind, find_node, find_paths, kind_of
from planish.poly.isl.to_list import list_sets
from planish.poly.scop.extraction import Scop, Statement
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto.tiling.strip_mining import floor_of

DISTANCES = (1, 2, 3)
"""The rows that a sweep stays behind the one before it, at least."""
MOST_SWEEPS, LEAST_SWEEPS = 32, 2
"""Repetitions in a block."""
USUAL_ROW = 16 * 1024
"""The bytes of a row of which nothing is known."""


def follow_sweeps(scop: Scop, order: isl.UnionMap, room: int) -> isl.Schedule | None:
    """The schedule with the first repeated sweeps, wherever that is legal, in blocks whose rows fit in so many bytes;
    None where there are none."""
    schedule = scop.schedule
    for path in find_paths(schedule.get_root(), _is_repetition):
        if not _writes_again(scop, find_node(schedule, path)):
            continue
        for distance in DISTANCES:
            count = _count_sweeps(scop, find_node(schedule, path), distance, room)
            if count < LEAST_SWEEPS:
                break
            changed = _follow(find_node(schedule, path), distance, count)
            if find_violation(schedule_map(changed), order) is None:
                return changed
    return None


def _is_repetition(node: isl.ScheduleNode) -> bool:
    """Whether a node is a loop over sweeps, of which the deepest have at least two loops."""
    if kind_of(node) != Kind.band or node.band_n_member() != 1:
        return False
    depths = [_depth(part) for part in _sweeps(node.get_child(0))]
    return max(depths) > 1 and max(depths) - min(depths) <= 1


def _writes_again(scop: Scop, node: isl.ScheduleNode) -> bool:
    """Whether the deepest statements in a loop write the same cells in all its iterations."""
    inside, loop = _statements(scop, node), node.get_schedule_depth()
    deepest = max((len(x.iterators) for x in inside), default=0)
    writes = [x for x in inside if len(x.iterators) == deepest]
    return bool(writes) and not any(x.iterators[loop] in variables(y) for x in writes for y in x.write.index)


def _statements(scop: Scop, node: isl.ScheduleNode) -> list[Statement]:
    """The statements in a loop."""
    names = {x.get_tuple_name() for x in list_sets(node.get_universe_domain())}
    return [x for x in scop.statements if x.name in names]


def _sweeps(body: isl.ScheduleNode) -> list[isl.ScheduleNode]:
    """The parts of a loop's body."""
    if kind_of(body) not in SEQUENCES:
        return [body]
    return [body.get_child(i).get_child(0) for i in range(body.n_children())]


def _depth(node: isl.ScheduleNode) -> int:
    """How many loops are directly inside each other."""
    return 1 + _depth(node.get_child(0)) if kind_of(node) == Kind.band else 0


def _count_sweeps(scop: Scop, node: isl.ScheduleNode, distance: int, room: int) -> int:
    """How many repetitions use rows that fit."""
    used = {a.array for s in _statements(scop, node) for a in s.accesses}
    arrays = [x for x in (*scop.kernel.arrays, *scop.locals) if x.name in used and len(x.shape) > 1]
    row = 0
    for array in arrays:
        extents = [None if x is None else constant(x) for x in array.shape[1:]]
        row += USUAL_ROW if None in extents else array.type.size * prod(x for x in extents if x is not None)
    rows = room // max(row, 1) - 2
    return min(MOST_SWEEPS, rows // (distance * len(_sweeps(node.get_child(0)))))


def _follow(node: isl.ScheduleNode, distance: int, count: int) -> isl.Schedule:
    """The tree where each sweep in the loop at `node` is so many rows behind the one before it."""
    times, parts = node.band_get_partial_schedule().get_at(0), _sweeps(node.get_child(0))
    deepest, rows = max(map(_depth, parts)), []
    for number, part in enumerate(parts):
        own = part.get_universe_domain()
        steps = _scaled(times.intersect_domain(own), len(parts) * distance)
        behind = _number(own, number * distance)
        whole = _depth(part) == deepest
        # A sweep over less than the others has one row, in front of theirs.
        place = part.band_get_partial_schedule().get_at(0) if whole else _number(own, 0)
        rows.append(place.intersect_domain(own).add(steps).add(behind))
    depth = node.get_tree_depth()
    node = node.delete()
    for number in range(len(parts)):
        part = _sweeps(node)[number]
        if _depth(part) == deepest:
            part = part.delete()
        node = part.ancestor(part.get_tree_depth() - depth)
    front = reduce(lambda a, b: a.union_add(b), rows)
    for value in (times, front, floor_of(times, count)):
        node = node.insert_partial_schedule(isl.MultiUnionPwAff.from_union_pw_aff(value))
    return node.get_schedule()


def _scaled(value: isl.UnionPwAff, factor: int) -> isl.UnionPwAff:
    return value.scale_val(isl.Val.int_from_si(value.get_ctx(), factor))


def _number(domain: isl.UnionSet, value: int) -> isl.UnionPwAff:
    return isl.UnionPwAff.val_on_domain(domain, isl.Val.int_from_si(domain.get_ctx(), value))
