"""The heart of the generator: the dimensions of a band become loops, one after the other (section 5.1).

level -> components -> isolation -> shifted strides -> pieces (unroll, separate, atomic, default) -> loop -> next level

>>> LevelOptions().kinds(3, False)
[('default', None)]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import islpy as isl

from planish.astgen.annotated import Graft, find_busy, find_common, find_switch, materialise, simplify_guard
from planish.astgen.code_size.cuts import CutPlan
from planish.astgen.components import sort_components, sort_pieces
from planish.astgen.dimensions.bounds import find_range
from planish.astgen.dimensions.divisions import with_known_divisions
from planish.astgen.dimensions.project import Actor, cut_dims, determines, loosen
from planish.astgen.dimensions.ranges import DimensionRange
from planish.astgen.dimensions.strides import find_shifts, shift, tighten
from planish.astgen.isolate import split
from planish.astgen.place import NO_HOOKS, Hooks, Place
from planish.astgen.separate import cut_strides, disjoint, list_bounds, separate
from planish.astgen.state import Dimension, State
from planish.astgen.unroll import slices
from planish.core.diagnostic import Remark
from planish.ir.expr import Const, Expr, Var, index
from planish.ir.nest import Block, For, Let, LoopFacts, Stmt
from planish.ir.traverse import control_names, count_work, substitute_block
from planish.ir.types import INDEX
from planish.poly.isl.coalesce import coalesce
from planish.poly.isl.expression import add, normalise
from planish.poly.isl.to_list import unite_maps

SET = isl.dim_type.set
SEPARATION_BUDGET = 24
"""The most pieces one loop is cut into; past it, one loop with guards inside."""

MOST_BASES = 4
"""The residues that are tried as the one on which a loop over shifted statements runs."""

LoopKind = Literal["default", "atomic", "separate", "unroll"]
Kinds = list[tuple[LoopKind, "isl.Set | None"]]


@dataclass(frozen=True, slots=True, eq=False)
class LevelOptions:
    """How the loop of each dimension is made, by position: in all points, or in a set of them; `isolated` for the
    isolated part alone; `otherwise` where these say nothing. `classes`: sets of points that get loops of their own.
    `plan`: what is cut is chosen loop by loop, unless a loop is to be atomic or unrolled. `hoist`: conditions do not
    move out of the loops of so many outer dimensions. `remark` hears of what is asked for and not done."""

    everywhere: Mapping[int, tuple[tuple[LoopKind, isl.Set | None], ...]] = field(default_factory=dict)
    isolated: Mapping[int, tuple[tuple[LoopKind, isl.Set | None], ...]] = field(default_factory=dict)
    otherwise: Mapping[int, LoopKind] = field(default_factory=dict)
    classes: Mapping[int, tuple[isl.Set, ...]] = field(default_factory=dict)
    plan: CutPlan | None = None
    hoist: int = 0
    remark: Callable[[Remark], None] = lambda remark: None

    def shifted(self, depth: int) -> LevelOptions:
        """The same for dimensions that have `depth` others around them."""

        def deeper(points: isl.Set) -> isl.Set:
            return points.insert_dims(SET, 0, depth)

        def all_deeper(kinds: Sequence[tuple[LoopKind, isl.Set | None]]) -> tuple[tuple[LoopKind, isl.Set | None], ...]:
            return tuple((kind, None if where is None else deeper(where)) for kind, where in kinds)

        return replace(
            self,
            everywhere={depth + position: all_deeper(kinds) for position, kinds in self.everywhere.items()},
            isolated={depth + position: all_deeper(kinds) for position, kinds in self.isolated.items()},
            otherwise={depth + position: kind for position, kind in self.otherwise.items()},
            classes={depth + position: tuple(map(deeper, parts)) for position, parts in self.classes.items()},
        )

    def kinds(self, position: int, isolated: bool) -> Kinds:
        """The kinds at a position with the points for which each holds; the last one holds for all others."""
        found = list((self.isolated if isolated else self.everywhere).get(position, ()))
        if not found or found[-1][1] is not None:
            found.append((self.otherwise.get(position, "default"), None))
        return found


Below = Callable[[Sequence[Actor], State], list[Graft]]


@dataclass(frozen=True, slots=True, eq=False)
class LevelBand:
    """Schedule dimensions `first` to `total` - 1, and what comes inside of them.

    `hint` gives names for the loops, by their place in the band; `facts`: what is known of each, `coincident` which
    carry no dependence. `part`: the isolated points, over all dimensions.
    `runs_after(a, b)`: at equal points what is below may order `a` after `b` (None: there is nothing below).
    """

    first: int
    total: int
    below: Below
    hint: Callable[[int], str]
    facts: tuple[LoopFacts, ...] = ()
    options: LevelOptions = LevelOptions()
    part: isl.Set | None = None
    runs_after: Callable[[Actor, Actor], bool] | None = None
    coincident: tuple[bool, ...] = ()
    hooks: Hooks = NO_HOOKS


Active = list[tuple[Actor, isl.Set]]
"""Statements that run here, with the points (up to the present dimension) at which they do."""


def level(band: LevelBand, actors: Sequence[Actor], state: State, isolated: bool) -> list[Graft]:
    """The code of the band from the present dimension on; `isolated`: the outer ones are in the isolated part."""
    position = state.depth
    if position == band.total:
        return band.below(actors, state)
    within = state.within.insert_dims(SET, position, 1)
    active: Active = []
    for actor in actors:
        points = actor.points(position + 1).intersect(within)
        if not points.is_empty():
            active.append((actor, points))
    if not active:
        return []
    if len(active) == 1:
        return _component(band, active, state, isolated)
    deep = state.within.insert_dims(SET, position, band.total - position)
    whole = [actor.points(band.total).intersect(deep) for actor, _ in active]
    out: list[Graft] = []
    after = band.runs_after
    order = (lambda a, b: after(active[a][0], active[b][0])) if after is not None else (lambda a, b: False)
    for numbers in sort_components(whole, position, order):
        out += _component(band, [active[n] for n in numbers], state, isolated)
    return out


def _component(band: LevelBand, active: Active, state: State, isolated: bool) -> list[Graft]:
    """The loops over statements that share them, with the parts that are to have loops of their own."""
    position = state.depth
    groups = [(active, False)]
    if isolated and band.part is not None:
        # A part that is empty further in is no reason for a nest of its own: the loops there have no iteration.
        groups = _parted(active, cut_dims(band.part, position + 1), position)
    for part in band.options.classes.get(position, ()):
        groups = [(some, inside) for members, inside in groups for some, _ in _parted(members, part, position)]
    return [graft for members, inside in groups for graft in _base(band, members, state, inside)]


def _parted(active: Active, part: isl.Set, position: int) -> list[tuple[Active, bool]]:
    """The statements before, in and after a part of the points, each with whether it is in there."""
    domain = _union([loosen(points, position) for _, points in active])
    pieces = split(domain, part, _union([points for _, points in active]))
    groups = [(_restrict(active, piece), inside) for piece, inside in pieces]
    return [(members, inside) for members, inside in groups if members]


def _union(domains: Sequence[isl.Set]) -> isl.Set:
    domain = domains[0]
    for other in domains[1:]:
        domain = domain.union(other)
    return coalesce(domain)


def _restrict(active: Active, piece: isl.Set) -> Active:
    found = [(actor, points.intersect(piece)) for actor, points in active]
    return [(actor, points) for actor, points in found if not points.is_empty()]


def _site(active: Active, state: State) -> str:
    return f"{state.depth} {state.within} {' '.join(actor.name for actor, _ in active)}"


def _base(band: LevelBand, active: Active, state: State, isolated: bool) -> list[Graft]:
    """The loops of one dimension over the points of `active`."""
    position = state.depth
    kinds = band.options.kinds(position, isolated)
    if any(kind == "unroll" for kind, _ in kinds) and determines(_union([p for _, p in active]), position):
        kinds = [("atomic", None)]
    if len(active) > 1 and all(kind != "unroll" for kind, _ in kinds):
        shifts = find_shifts([points for _, points in active], position)
        if shifts is not None:
            return _shifted(band, active, *shifts, state, isolated)
    exact = _union([points for _, points in active])
    domain = tighten(_union([loosen(points, position) for _, points in active]), exact, position)
    pieces: list[isl.Set] = []
    for kind, where in kinds:
        here = domain if where is None else domain.intersect(where)
        if here.is_empty():
            continue
        pieces += _cut(kind, band.options, here, lambda: [_explicit(a, state) for a, _ in active], position, exact)
        if where is not None:
            domain = coalesce(domain.subtract(where))
    if len(kinds) > 1:
        pieces = sort_pieces(pieces)
    unrolled = any(kind == "unroll" for kind, _ in kinds) and len(pieces) > 1
    out: list[Graft] = []
    for number, piece in enumerate(pieces):
        inside = active if len(pieces) == 1 else _restrict(active, piece)
        if inside:
            out += _loop(band, [(0, inside)], piece, state, isolated, copy=number if unrolled else None)
    return out


def _explicit(actor: Actor, state: State) -> isl.Set:
    within = state.within.insert_dims(SET, state.depth, 1)
    return loosen(actor.explicit(state.depth + 1).intersect(within), state.depth)


def _cut(
    kind: LoopKind, options: LevelOptions, domain: isl.Set, explicit: Callable[[], list[isl.Set]], position: int,
    exact: isl.Set,
) -> list[isl.Set]:  # fmt: skip
    """The pieces that get a loop each, in order: as the plan says, unless they are to be atomic or unrolled. `explicit`
    gives the points of each statement, `exact` has all points, which may lie on a stride."""
    match kind:
        case "atomic":
            return [domain]
        case "unroll":
            copies = slices(domain, position, exact)
            if copies is None:
                message = f"the loop of dimension {position} is not unrolled: its iterations have no small bound"
                options.remark(Remark("astgen-unroll", "refused", message))
            return copies or [domain]
        case "separate" | "default" if options.plan is not None:
            return _planned(options.plan, domain, explicit())
        case "separate":
            pieces = separate([points.intersect(domain) for points in explicit()], SEPARATION_BUDGET)
            if pieces is None:
                reason = f"would make more than {SEPARATION_BUDGET} loops of it, or takes too much work"
                message = f"the loop of dimension {position} keeps its tests inside: to separate it {reason}"
                options.remark(Remark("astgen-separate", "refused", message))
            return pieces or [domain]
        case "default":
            strided = cut_strides(exact.intersect(domain), position)
            return disjoint(domain, SEPARATION_BUDGET) if strided is None else strided


def _planned(plan: CutPlan, domain: isl.Set, loose: Sequence[isl.Set]) -> list[isl.Set]:
    """The pieces of a loop, cut where the plan says, at bounds of the statements."""
    last = domain.dim(SET) - 1
    for test in list_bounds(loose, last):
        before, after = coalesce(domain.subtract(test)), domain.intersect(test)
        if before.is_empty() or after.is_empty() or not plan.cuts(f"{domain} at {test}"):
            continue
        return [piece for side in sort_pieces([before, after]) for piece in _planned(plan, side, loose)]
    return [domain]


def _grouped(
    active: Active, shifts: list[int], position: int
) -> tuple[list[tuple[int, Active]], list[isl.Set], isl.Set | None]:
    """Statements by how far they lie behind the loop's value, their points moved back to it, and those that hold all
    the others, if there are any."""
    groups = [(r, [active[i] for i in range(len(active)) if shifts[i] == r]) for r in sorted(set(shifts))]
    back = [shift(points, position, -r) for r, members in groups for _, points in members]
    return groups, back, next((s for s in back if all(x is s or x.is_subset(s) for x in back)), None)


def _shifted(
    band: LevelBand, active: Active, stride: int, shifts: list[int], state: State, isolated: bool
) -> list[Graft]:
    """One strided loop for statements on different residues: inside, each group runs at its distance from the
    loop's value, the nearest first."""
    position = state.depth
    bases = sorted(set(shifts))[:MOST_BASES]
    choices = [_grouped(active, [(s - base) % stride for s in shifts], position) for base in bases]
    # Where one statement's values, moved back, hold all others, one loop will do.
    groups, back, widest = next((c for c in choices if c[2] is not None), choices[0])
    kind = band.options.kinds(position, isolated)[-1][0]
    domain = loosen(widest, position) if widest is not None else _union([loosen(points, position) for points in back])
    pieces = [domain]
    if widest is None or kind == "separate" or band.options.plan is not None:
        members = [(r, actor) for r, group in groups for actor, _ in group]

        def explicit() -> list[isl.Set]:
            return [shift(_explicit(actor, state), position, -r) for r, actor in members]

        pieces = _cut(kind, band.options, domain, explicit, position, _union(back))
    out: list[Graft] = []
    for piece in pieces:
        inside = [(r, _restrict(members, shift(piece, position, r))) for r, members in groups]
        some = [(r, members) for r, members in inside if members]
        if some:
            out += _loop(band, some, piece, state, isolated, counted=True)
    return out


def _loop(
    band: LevelBand, groups: list[tuple[int, Active]], piece: isl.Set, state: State, isolated: bool,
    counted: bool = False, copy: int | None = None,
) -> list[Graft]:  # fmt: skip
    """One loop over a piece of the dimension, or its body where there is a single value. The values of the group's
    points are `shift` (the number beside it) more than those of the loop, which may count the steps of a stride. With
    `copy`, the piece may be one value of an unrolled loop."""
    position = state.depth
    lifted = state.context.insert_dims(SET, position, 1)
    exact = _union([shift(points, position, -r) for r, active in groups for _, points in active])
    bounds = find_range(piece, position, lifted, state.dims, exact, counted)
    if position < band.options.hoist and bounds.only is None and not bounds.fractional:
        # What is not tested here is tested inside, where it is still unknown.
        bounds = replace(bounds, guard=isl.Set.universe(bounds.guard.get_space()))
    name: str | None = None
    value = bounds.only
    if value is None and isinstance(bounds.lower, Const) and bounds.lower == bounds.upper:
        value = bounds.value_of(bounds.lower)
    alone = value
    if value is None or count_work(value):
        name = state.fresh(band.hint(position - band.first))
        value = bounds.value_of(Var(name, INDEX)) if value is None else Var(name, INDEX)
    coincident = bool(band.coincident) and band.coincident[position - band.first]
    dimension = Dimension(
        "loop" if alone is None else "degenerate" if copy is None else "unrolled",
        value, name, bounds.stride, copy or 0, coincident, isolated and band.part is not None,
    )  # fmt: skip
    grafts: list[Graft] = []
    ensured = bounds.ensured.intersect(bounds.guard)
    for distance, active in groups:
        moved = replace(dimension, value=normalise(add(value, index(distance)))) if distance else dimension
        known = shift(ensured, position, distance)
        inner = state.inside(moved, known, shift(piece, position, distance))
        if band.hooks is not NO_HOOKS:
            band.hooks.enter(_find_place(active, inner))
        found = level(band, [actor for actor, _ in active], inner, isolated)
        grafts += [_shift_graft(g, position, -distance) for g in found] if distance else found
    if not grafts:
        return []
    if name is None:
        return [_at_value(g, bounds, state) for g in grafts]
    if alone is not None:
        return _named(name, alone, grafts, bounds, state)
    plan = band.options.plan
    known = lifted.intersect(bounds.ensured).intersect(bounds.guard)
    switch = find_switch(grafts, position, known) if position >= band.options.hoist else None
    if switch is not None and plan is not None and not plan.cuts(f"{_site(groups[0][1], state)} {piece}"):
        switch = None
    if switch is None:
        return [_for(band, dimension, grafts, bounds, state, groups)]
    out = []
    for condition in switch:
        here = known.intersect(condition)
        some = [g.simplified(here) for g in grafts if not g.guard.intersect(here).is_empty()]
        if some:
            chosen = replace(bounds, guard=bounds.guard.intersect(condition))
            out.append(_for(band, dimension, some, chosen, state, groups))
    return out


def _for(
    band: LevelBand, dimension: Dimension, grafts: list[Graft], bounds: DimensionRange, state: State,
    groups: list[tuple[int, Active]],
) -> Graft:  # fmt: skip
    """The loop around its body."""
    facts = band.facts[state.depth - band.first] if band.facts else LoopFacts()
    if dimension.coincident or dimension.isolated:
        facts = replace(facts, coincident=dimension.coincident, isolated=dimension.isolated)
    upper = normalise(add(bounds.upper, index(1)))
    step = 1 if bounds.origin is not None else bounds.stride
    assert dimension.name is not None
    head = For(dimension.name, bounds.lower, upper, step, Block(()), facts)

    def wrap(body: Block) -> Stmt:
        loop = replace(head, body=body)
        if band.hooks is NO_HOOKS:
            return loop
        return band.hooks.leave(_find_place([x for _, active in groups for x in active], state), loop)

    return _around(wrap, dimension.value, grafts, bounds, state, hoisted=state.depth >= band.options.hoist)


def _find_place(active: Active, state: State) -> Place:
    """The place of a state, with the statements that run there."""
    depth = state.depth
    relations = [
        actor.relation.project_out(isl.dim_type.in_, depth, actor.total - depth).intersect_domain(state.within)
        for actor, _ in active
    ]
    return Place(state, unite_maps(relations))


def _named(name: str, value: Expr, grafts: list[Graft], bounds: DimensionRange, state: State) -> list[Graft]:
    """The code of a single iteration whose value takes work: computed once where a condition or a bound needs it."""
    if any(g.guard.involves_dims(SET, state.depth, 1) or name in control_names(Block(g.code)) for g in grafts):
        let = Let(name, value)
        return [_around(lambda body: Block((let, *_spliced(body))), Var(name, INDEX), grafts, bounds, state)]
    inlined = [replace(g, code=substitute_block(Block(g.code), {name: value}).body) for g in grafts]
    return [_at_value(g, bounds, state) for g in inlined]


def _spliced(body: Block) -> tuple[Stmt, ...]:
    """The statements of a block; those of the one block in it, which has names of its own, where it is alone."""
    match body.body:
        case (Block(body=inner),):
            return inner
        case statements:
            return statements


def _around(
    wrap: Callable[[Block], Stmt],
    value: Expr,
    grafts: list[Graft],
    bounds: DimensionRange,
    state: State,
    hoisted: bool = True,
) -> Graft:
    """A body in what gives the newest dimension its value; what the body's conditions have in common moves out where
    they are to be `hoisted`."""
    position = state.depth
    common = find_common(grafts, position) if hoisted else isl.Set.universe(bounds.guard.get_space())
    known = state.context.insert_dims(SET, position, 1).intersect(bounds.ensured).intersect(bounds.guard)
    if not common.plain_is_universe():
        known = known.intersect(common)
        grafts = [g.simplified(known) for g in grafts]
    code = wrap(Block(tuple(materialise(grafts, known, (*state.dims, value)))))
    busy = find_busy(grafts, bounds.certain, position)
    guard = bounds.guard.intersect(common).project_out(SET, position, 1)
    return Graft((code,), simplify_guard(guard, state.context.intersect(busy)), busy)


def _outer(points: isl.Set, position: int) -> isl.Set:
    """What the outer dimensions have to satisfy, without existentials that have no explicit form."""
    return with_known_divisions(points.project_out(SET, position, 1))


def _shift_graft(graft: Graft, position: int, distance: int) -> Graft:
    busy = graft.busy if graft.busy is None else shift(graft.busy, position, distance)
    return Graft(graft.code, shift(graft.guard, position, distance), busy)


def _at_value(graft: Graft, bounds: DimensionRange, state: State) -> Graft:
    """A graft at the single value of the newest dimension, with conditions on the outer ones."""
    position = state.depth
    whole = graft.guard.intersect(bounds.ensured).intersect(bounds.guard)
    guard = whole.project_out(SET, position, 1).compute_divs()
    if graft.busy is None:
        return Graft(graft.code, simplify_guard(guard, state.context))
    busy = _outer(graft.busy.intersect(bounds.certain), position)
    return Graft(graft.code, simplify_guard(guard, state.context.intersect(busy)), busy)
