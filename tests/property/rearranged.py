"""Random schedules of a program: interchanged, skewed, shifted, reversed, tiled, fused, distributed, unrolled.

Most are illegal, as they should be: whoever uses them asks first.

>>> import random
>>> from planish.poly.scop.extraction import extract_scop
>>> from tests.property.programs import make_program
>>> scop = extract_scop(make_program(5).kernel)
>>> rearrange(scop, scop.schedule, random.Random(0)).get_domain().is_equal(scop.domain)
True
"""

from __future__ import annotations

import random

import islpy as isl

from planish.poly.isl.affine import isl_name
from planish.poly.isl.to_list import list_sets
from planish.poly.scop.extraction import Scop, Statement

TYPES = isl.schedule_node_type


def rearrange(scop: Scop, schedule: isl.Schedule, rng: random.Random) -> isl.Schedule:
    """A random schedule of the same instances, made from `schedule` or afresh."""
    if not scop.statements or scop.domain.is_empty():
        return schedule
    for _ in range(rng.choice((1, 1, 2))):
        kind = rng.choice(("above", "above", "fresh", "bands", "bands", "split", "order"))
        match kind:
            case "above":
                schedule = _with_band_above(scop, schedule, rng)
            case "fresh":
                schedule = _fresh(scop, rng)
            case "bands":
                schedule = _with_changed_bands(schedule, rng)
            case "split":
                schedule = _with_split(schedule, rng)
            case _:
                schedule = _with_order(schedule, rng)
    return _with_options(schedule, rng)


def random_row(statement: Statement, sizes: tuple[str, ...], rng: random.Random) -> str:
    """A random affine function of a statement's iterators."""
    names = [isl_name(x) for x in statement.iterators]
    roll = rng.random()
    if not names or roll < 0.1:
        return str(rng.randint(0, 2))
    text = rng.choice(names)
    if rng.random() < 0.12:
        text = f"-{text}"
    if len(names) > 1 and rng.random() < 0.3:
        text += rng.choice((" + ", " + ", " - ", " + 2")) + rng.choice(names)
    if rng.random() < 0.25:
        text += f" + {rng.randint(-2, 3)}"
    if sizes and rng.random() < 0.05:
        text += f" + {isl_name(rng.choice(sizes))}"
    roll = rng.random()
    if roll < 0.2:
        size = rng.choice((2, 3, 4))
        scale = rng.choice((1, size))
        text = f"{scale}*floor(({text})/{size})"
    elif roll < 0.25:
        text = f"({text}) mod {rng.choice((2, 3))}"
    return text


def random_band(scop: Scop, members: int, rng: random.Random) -> isl.MultiUnionPwAff:
    """Random functions of all statements."""
    head = f"[{', '.join(isl_name(n) for n in scop.kernel.sizes)}] -> "
    rows = []
    for _ in range(members):
        parts = []
        for s in scop.statements:
            dims = ", ".join(isl_name(x) for x in s.iterators)
            parts.append(f"{s.name}[{dims}] -> [({random_row(s, scop.kernel.sizes, rng)})]")
        rows.append("{ " + "; ".join(parts) + " }")
    return isl.MultiUnionPwAff(head + "[" + ", ".join(rows) + "]")


def _with_band_above(scop: Scop, schedule: isl.Schedule, rng: random.Random) -> isl.Schedule:
    """A random band outside everything else; what it leaves open keeps its order."""
    node = schedule.get_root().get_child(0)
    return node.insert_partial_schedule(random_band(scop, rng.choice((1, 1, 2)), rng)).get_schedule()


def _fresh(scop: Scop, rng: random.Random) -> isl.Schedule:
    depth = max(len(s.iterators) for s in scop.statements)
    band = random_band(scop, max(1, depth), rng)
    names = [s.name for s in scop.statements]
    if len(names) > 1 and rng.random() < 0.5:
        order = "{ " + "; ".join(f"{s.name}[{_blank(s)}] -> [{rng.randrange(3)}]" for s in scop.statements) + " }"
        last = isl.MultiUnionPwAff(f"[{order}]")
        band = band.flat_range_product(last) if rng.random() < 0.5 else last.flat_range_product(band)
    return isl.Schedule.from_domain(scop.domain).insert_partial_schedule(band)


def _blank(statement: Statement) -> str:
    return ", ".join(isl_name(x) for x in statement.iterators)


def _paths(node: isl.ScheduleNode, kinds: tuple[object, ...], path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    out = [path] if node.get_type() in kinds else []
    for i in range(node.n_children()):
        out += _paths(node.get_child(i), kinds, (*path, i))
    return out


def _at(schedule: isl.Schedule, path: tuple[int, ...]) -> isl.ScheduleNode:
    node = schedule.get_root()
    for i in path:
        node = node.get_child(i)
    return node


def _with_changed_bands(schedule: isl.Schedule, rng: random.Random) -> isl.Schedule:
    """Some bands permuted, reversed, skewed, shifted or tiled."""
    for path in sorted(_paths(schedule.get_root(), (TYPES.band,)), key=len, reverse=True):
        if rng.random() < 0.4:
            continue
        node = _at(schedule, path)
        partial = node.band_get_partial_schedule()
        rows = [partial.get_at(i) for i in range(node.band_n_member())]
        if not rows:
            continue
        if rng.random() < 0.5:
            rng.shuffle(rows)
        i = rng.randrange(len(rows))
        roll = rng.random()
        if roll < 0.15:
            rows[i] = rows[i].neg()
        elif roll < 0.4 and len(rows) > 1:
            other = rows[i - 1].scale_val(isl.Val(rng.choice((1, 1, 2, -1))))
            rows[i] = rows[i].add(other)
        elif roll < 0.5:
            rows[i] = rows[i].scale_val(isl.Val(rng.choice((2, 3))))
        child = node.get_child(0)
        below_kind: object = child.get_type()
        inner_is_band = below_kind == TYPES.band
        node = node.delete()
        fresh = _product(rows)
        if inner_is_band and rng.random() < 0.3:
            below = node.band_get_partial_schedule()
            node = node.delete()
            fresh = below.flat_range_product(fresh) if rng.random() < 0.6 else fresh.flat_range_product(below)
        node = node.insert_partial_schedule(fresh)
        if rng.random() < 0.4:
            size = isl.Val(rng.choice((2, 3, 4)))
            tiles = [fresh.get_at(m).scale_down_val(size).floor() for m in range(fresh.dim(isl.dim_type.out))]
            if rng.random() < 0.5:
                tiles = [t.scale_val(size) for t in tiles]
            node = node.insert_partial_schedule(_product(tiles))
        schedule = node.get_schedule()
    return schedule


def _product(rows: list[isl.UnionPwAff]) -> isl.MultiUnionPwAff:
    out = isl.MultiUnionPwAff.from_union_pw_aff(rows[0])
    for row in rows[1:]:
        out = out.flat_range_product(isl.MultiUnionPwAff.from_union_pw_aff(row))
    return out


def _with_split(schedule: isl.Schedule, rng: random.Random) -> isl.Schedule:
    """At some place, some of the statements (or instances) run before the others."""
    inner = [p for p in _paths(schedule.get_root(), (TYPES.band, TYPES.sequence, TYPES.leaf)) if p]
    node = _at(schedule, rng.choice(inner))
    parent: object = node.parent().get_type()
    if parent in (TYPES.sequence, TYPES.set):
        return schedule
    domain = node.get_domain()
    sets = list_sets(domain)
    if not sets:
        return schedule
    part = isl.UnionSet.empty(domain.get_space())
    for s in sets:
        if rng.random() < 0.5:
            part = part.union(isl.UnionSet.from_set(s))
    if len(sets) == 1 or part.is_empty() or domain.subtract(part).is_empty():
        s = rng.choice(sets)
        if s.dim(isl.dim_type.set) == 0:
            return schedule
        d = rng.randrange(s.dim(isl.dim_type.set))
        cut = s.upper_bound_val(isl.dim_type.set, d, isl.Val(rng.randint(0, 3)))
        part = isl.UnionSet.from_set(cut)
    rest = domain.subtract(part)
    if part.is_empty() or rest.is_empty():
        return schedule
    first, second = (part, rest) if rng.random() < 0.5 else (rest, part)
    filters = isl.UnionSetList.alloc(node.get_ctx(), 2).add(first).add(second)
    return node.insert_sequence(filters).get_schedule()


def _with_order(schedule: isl.Schedule, rng: random.Random) -> isl.Schedule:
    """The children of one sequence in another order."""
    paths = _paths(schedule.get_root(), (TYPES.sequence,))
    if not paths:
        return schedule
    node = _at(schedule, rng.choice(paths))
    domain = node.get_domain()
    filters = [node.get_child(i).filter_get_filter() for i in range(node.n_children())]
    rng.shuffle(filters)
    new = isl.UnionSetList.alloc(node.get_ctx(), len(filters))
    for f in filters:
        new = new.add(f.intersect(domain))
    return node.insert_sequence(new).get_schedule()


def _with_options(schedule: isl.Schedule, rng: random.Random) -> isl.Schedule:
    """Ways of generating loops, on some bands; unrolling only what has a constant number of values."""
    for path in _paths(schedule.get_root(), (TYPES.band,)):
        node = _at(schedule, path)
        for m in range(node.band_n_member()):
            if rng.random() < 0.25:
                kinds = isl.ast_loop_type
                node = node.band_member_set_ast_loop_type(m, rng.choice((kinds.separate, kinds.atomic, kinds.unroll)))
        schedule = node.get_schedule()
    return schedule
