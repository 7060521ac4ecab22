"""Vectorises small nests inside of an outer loop, each by itself: lanes along contiguous memory, sums and some rows in
registers; the loops around are unchanged.

Before: for b { for i { for u { s = 0; for k { s += x[b, i, k] * t[k, u] }; y[b, i, u] = s } } }
After:  for b { for each 8 of i { lanes u { 8 sums = 0; all k { 8 sums += … }; y[b, 8 of i, u] = 8 sums } } }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.dependence import find_order
>>> from planish.poly.scop.extraction import extract_scop
>>> from planish.target.load import load_target
>>> nest = "for i in 0 .. 6 { for u in 0 .. 8 { for k in 0 .. 8 { y[b, i, u] += x[b, i, k] * t[k, u] } } }"
>>> arrays = "t: f32[8, 8], x: f32[n, 6, 8], y: f32[n, 6, 8]"
>>> scop = extract_scop(parse_kernel("kernel k(n; %s) { for b in 0 .. n { %s } }" % (arrays, nest)))
>>> made, = shape_nests(scop, find_order(scop), load_target("x86-avx2"), 4)[1]
>>> made.lanes, made.rows, made.terms
('u', 3, 8)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import islpy as isl

from planish.ir.expr import Expr
from planish.ir.index.polynomial import coefficient_of
from planish.poly.isl.schedule_tree import SEQUENCES, Kind, Path, find_node, find_paths, kind_of
from planish.poly.isl.to_list import list_sets
from planish.poly.scop.extraction import Access, Scop, Statement
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto.tiling.band import same_time
from planish.schedule.auto.tiling.strip_mining import floor_of, join
from planish.target.machine import Target

MARK = "nest"
"""What stands above the loop over lanes in the tree."""
MOST = 320
"""Statements in each lane: what gcc still keeps in registers, and about what fits in the first level of a cache."""
_TERMS = 32
"""The terms of a sum that are all written out, at most."""


@dataclass(frozen=True, slots=True)
class LoopRange:
    """A loop from one number to another one, which it does not reach; `loop` is its number among the kernel's."""

    loop: int
    lower: int
    upper: int

    @property
    def trips(self) -> int:
        """How many iterations it has."""
        return self.upper - self.lower


@dataclass(frozen=True, slots=True)
class InnerNest:
    """A nest that is shaped: its statements, the iterator that goes along the lanes, how many rows are done in each
    lane at a time, and how many terms a sum has. `kept`: of arrays, the subscripts by which lanes and rows differ."""

    statements: tuple[Statement, ...]
    lanes: str
    rows: int
    terms: int
    kept: tuple[tuple[str, frozenset[int]], ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """Statements of a nest that share all their loops: those around the nest's sequence, then those of their own."""

    statements: tuple[Statement, ...]
    ranges: tuple[LoopRange, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Of the loops of a nest that its parts share: which stay around the lanes, which one goes along them (by so many
    elements, 0: by all), and which is done by so many rows at a time, if there is such a one; the others are sums."""

    around: tuple[int, ...]
    lanes: int
    width: int
    row: int | None
    rows: int


def shape_nests(
    scop: Scop, order: isl.UnionMap, machine: Target, rows: int
) -> tuple[isl.Schedule, tuple[InnerNest, ...]]:
    """The kernel's own order with the nests inside of its loops shaped, wherever that keeps the pairs of `order` in
    order; and those nests. At most so many `rows` are done at a time."""
    schedule, made = scop.schedule, list[InnerNest]()
    done: list[Path] = []
    for path in sorted(find_paths(schedule.get_root(), lambda x: kind_of(x) == Kind.band), key=len):
        # What is shaped lies below its path, so that the paths to other nests stay.
        if any(path[: len(x)] == x for x in done):
            continue
        node = find_node(schedule, path)
        changed = _shaped(scop, node, order, machine, rows) if node.get_schedule_depth() else None
        if changed is not None:
            schedule = changed[0]
            made.append(changed[1])
            done.append(path)
    return schedule, tuple(made)


def _shaped(
    scop: Scop, node: isl.ScheduleNode, order: isl.UnionMap, machine: Target, rows: int
) -> tuple[isl.Schedule, InnerNest] | None:
    """The tree with the nest at `node` shaped, and the nest; None where it is none, or that is not legal."""
    first = node.get_schedule_depth()
    shared, parts = _read(scop, node)
    if not parts:
        return None
    for plan in _plans(scop, shared, parts, first, machine, rows):
        changed, together = _insert(node, plan, shared, parts)
        if not _are_lanes(together, order) or find_violation(schedule_map(changed), order) is not None:
            continue
        return changed, _nest(plan, shared, parts, first)
    return None


def _are_lanes(together: tuple[isl.UnionMap, isl.UnionMap], order: isl.UnionMap) -> bool:
    """Whether no lane waits for another one: `together` is the time of an instance outside the loop over lanes, and
    that with its lane."""
    outside, inside = map(same_time, together)
    return order.intersect(outside).subtract(inside).is_empty()


def _nest(plan: _Plan, shared: int, parts: Sequence[_Part], first: int) -> InnerNest:
    """What is said of a nest that is shaped."""
    moved = {first + m for m in (plan.lanes, plan.row) if m is not None}
    kept: dict[str, frozenset[int]] = {}
    for part in parts:
        for statement in part.statements:
            names = [statement.iterators[m] for m in moved]
            for access in statement.accesses:
                own = {d for d, at in enumerate(access.index) if any(_step(at, name) != 0 for name in names)}
                kept[access.array] = kept.get(access.array, frozenset()) | own
    statements = tuple(x for part in parts for x in part.statements)
    terms = max(_terms(plan, shared, part) for part in parts)
    return InnerNest(statements, statements[0].iterators[first + plan.lanes], plan.rows, terms, tuple(kept.items()))


def _inner(plan: _Plan, shared: int, part: _Part) -> list[int]:
    """The loops of a part that are written out in each lane, but for rows."""
    apart = (*plan.around, plan.lanes, plan.row)
    return [m for m in range(len(part.ranges)) if m >= shared or m not in apart]


def _terms(plan: _Plan, shared: int, part: _Part) -> int:
    """How often each statement of a part stands in a lane for each row."""
    return prod(part.ranges[m].trips for m in _inner(plan, shared, part))


def _read(scop: Scop, node: isl.ScheduleNode) -> tuple[int, tuple[_Part, ...]]:
    """The loops right inside each other from `node` on, and the parts of the sequence in them; no parts where some of
    their loops are not known, or there is more in them."""
    first = node.get_schedule_depth()
    while kind_of(node) == Kind.band and node.band_n_member() == 1:
        node = node.get_child(0)
    shared = node.get_schedule_depth() - first
    children = (
        [node.get_child(i).get_child(0) for i in range(node.n_children())] if kind_of(node) in SEQUENCES else [node]
    )
    parts = []
    for child in children:
        names = {x.get_tuple_name() for x in list_sets(child.get_domain())}
        statements = tuple(x for x in scop.statements if x.name in names)
        while kind_of(child) == Kind.band:
            child = child.get_child(0)
        depth = child.get_schedule_depth()
        ranges = _ranges(statements, first, depth)
        if kind_of(child) != Kind.leaf or ranges is None or any(len(x.iterators) != depth for x in statements):
            return shared, ()
        parts.append(_Part(statements, ranges))
    alike = all(x.ranges[:shared] == parts[0].ranges[:shared] for x in parts)
    return shared, tuple(parts) if alike else ()


def _ranges(statements: Sequence[Statement], first: int, depth: int) -> tuple[LoopRange, ...] | None:
    """The loops around some statements from a depth to another one, if their bounds are numbers and the same for all
    that is around; None otherwise."""
    out: list[LoopRange] = []
    for statement in statements:
        own = []
        whole = statement.domain
        for d in range(first, min(depth, len(statement.iterators))):
            low, high = whole.dim_min_val(d), whole.dim_max_val(d)
            if not (low.is_int() and high.is_int()):
                return None
            own.append(LoopRange(statement.loops[d], int(low.to_python()), int(high.to_python()) + 1))
        if out and own != out:
            return None
        out = own
    return tuple(out)


def _plans(scop: Scop, shared: int, parts: Sequence[_Part], first: int, machine: Target, most: int) -> Iterator[_Plan]:
    """The ways to shape a nest, the most promising first: lanes along the innermost loop that has them."""
    ranges = parts[0].ranges[:shared]
    statements = [x for part in parts for x in part.statements]
    types = {x.name: x.type for x in (*scop.kernel.arrays, *scop.locals)}
    inner = _inner_arrays(scop, statements)
    sums = {m for m in range(shared) if all(_stays(x, first + m) for x in statements)}
    for lanes in reversed(range(shared)):
        if lanes in sums or ranges[lanes].trips < 2:
            continue
        if not all(_is_row(x, s.iterators[first + lanes], inner) for s in statements for x in s.accesses):
            continue
        others = [m for m in range(shared) if m != lanes and m not in sums]
        row = others[-1] if others else None
        around = tuple(others[:-1])
        terms = [_terms(_Plan(around, lanes, 0, row, 1), shared, part) for part in parts]
        if max(terms) > _TERMS:
            continue
        count = sum(n * len(part.statements) for n, part in zip(terms, parts, strict=True))
        width = _width(ranges[lanes], max(machine.lanes(types[x.write.array]) for x in statements))
        rows = 1 if row is None else _most_rows(ranges[row], min(most, MOST // count), width > 0)
        if rows:
            yield _Plan(around, lanes, width, row, rows)


def _most_rows(loop: LoopRange, most: int, some: bool) -> int:
    """The most rows, `some` of them but not all, that are done at a time; 0 where they are too many."""
    if loop.trips <= most and not (some and loop.trips > 1):
        return loop.trips
    fitting = (x for x in reversed(range(1, most + 1)) if loop.trips % x == 0 and loop.lower % x == 0)
    return next((x for x in fitting if x < loop.trips), 0)


def _width(loop: LoopRange, lanes: int) -> int:
    """How far a loop over lanes goes at a time, so that no more than one register is needed for each value; 0: to its
    end."""
    fits = 1 < lanes < loop.trips and loop.lower % lanes == 0 and loop.trips % lanes == 0
    return lanes if fits else 0


def _stays(statement: Statement, dimension: int) -> bool:
    """Whether a statement stores to one cell in all iterations of a loop."""
    name = statement.iterators[dimension]
    return all(_step(x, name) == 0 for x in statement.write.index)


def _inner_arrays(scop: Scop, statements: Sequence[Statement]) -> set[str]:
    """Local arrays that only some statements use: what they hold stays in registers."""
    own = {x.name for x in statements}
    others = {x.array for s in scop.statements if s.name not in own for x in s.accesses}
    return {x.name for x in scop.locals} - others


def _is_row(access: Access, name: str, inner: Collection[str]) -> bool:
    """Whether an access stays in a loop, or goes on by an element; what is stored has to go on."""
    steps = [_step(x, name) for x in access.index]
    if access.array in inner:
        return any(x != 0 for x in steps)
    is_unit = bool(steps) and steps[-1] == 1 and not any(steps[:-1])
    return is_unit or (not access.write and all(x == 0 for x in steps))


def _step(at: Expr, name: str) -> int | None:
    """How a subscript goes on in a loop; None where that is not known."""
    moved = coefficient_of(at, name)
    return None if moved is None else moved[0]


def _insert(
    node: isl.ScheduleNode, plan: _Plan, shared: int, parts: Sequence[_Part]
) -> tuple[isl.Schedule, tuple[isl.UnionMap, isl.UnionMap]]:
    """The tree with a nest in its new form, and two times of its instances: outside of the loop over lanes, and with
    that."""
    domain = node.get_domain()
    prefix = node.get_prefix_schedule_union_map().intersect_domain(domain)
    own = [[_values(x, node.get_schedule_depth() + d, domain) for d in range(len(x.ranges))] for x in parts]
    common = [reduce(isl.UnionPwAff.union_add, (values[m] for values in own)) for m in range(shared)]
    outer = [common[m] for m in plan.around]
    row, in_rows = plan.row, plan.row is not None and plan.rows < parts[0].ranges[plan.row].trips
    outer += [floor_of(common[plan.lanes], plan.width)] if plan.width else []
    outer += [floor_of(common[row], plan.rows)] if row is not None and in_rows else []
    times = reduce(lambda a, b: a.flat_range_product(isl.UnionMap.from_union_pw_aff(b)), outer, prefix)
    lanes = times.flat_range_product(isl.UnionMap.from_union_pw_aff(common[plan.lanes]))
    node = node.cut()
    depth = node.get_tree_depth()
    if len(parts) > 1:
        filters = isl.UnionSetList.alloc(node.get_ctx(), len(parts))
        for part in parts:
            filters = filters.add(_domain(part, domain))
        node = node.insert_sequence(filters)
    for n, (part, values) in enumerate(zip(parts, own, strict=True)):
        below = node.get_child(n).get_child(0) if len(parts) > 1 else node
        # Terms of one sum after the other, so that rows take turns.
        inner = [values[m] for m in _inner(plan, shared, part)] + ([values[row]] if row is not None else [])
        if inner:
            below = below.insert_partial_schedule(join(inner))
            for m in range(len(inner)):
                below = below.band_member_set_ast_loop_type(m, isl.ast_loop_type.unroll)
        node = below.ancestor(below.get_tree_depth() - depth)
    node = node.insert_partial_schedule(join([common[plan.lanes]]))
    node = node.band_member_set_ast_loop_type(0, isl.ast_loop_type.separate).insert_mark(isl.Id(MARK))
    if outer:
        node = node.insert_partial_schedule(join(outer))
    return node.get_schedule(), (times, lanes)


def _domain(part: _Part, domain: isl.UnionSet) -> isl.UnionSet:
    """The instances of a part."""
    names = {x.name for x in part.statements}
    own = (isl.UnionSet.from_set(x) for x in list_sets(domain) if x.get_tuple_name() in names)
    return reduce(isl.UnionSet.union, own)


def _values(part: _Part, dimension: int, domain: isl.UnionSet) -> isl.UnionPwAff:
    """The values of an iterator of a part's statements."""
    out = isl.UnionPwAff.empty(domain.get_space())
    for own in list_sets(_domain(part, domain)):
        local = isl.LocalSpace.from_space(own.get_space())
        value = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, dimension))
        out = out.add_pw_aff(value.intersect_domain(own))
    return out
