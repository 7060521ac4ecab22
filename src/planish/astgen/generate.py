"""AST generation from a schedule tree or map: each kind of node adds loops, guards or an order (section 6).

The executed relation maps a point of the schedule dimensions so far to the instances that run there; bands add
dimensions, filters take instances away, leaves turn what is left into statements.

>>> import islpy as isl
>>> from planish.ir.expr import Const
>>> from planish.ir.nest import Assign
>>> from planish.ir.types import F32
>>> band = '{ "schedule": "[n] -> [{ S[i] -> [(i)] }]" }'
>>> tree = isl.Schedule('{ "domain": "[n] -> { S[i] : 0 <= i < n }", "child": ' + band + ' }')
>>> nest = generate(tree, lambda name, at: Assign("A", at, Const(0.0, F32)), frozenset({"n"}))
>>> nest.body[0].var
'i'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl

from planish.astgen.annotated import Graft, count_tests, materialise
from planish.astgen.dimensions.bounds import UnboundedError
from planish.astgen.dimensions.project import Actor, pad_range
from planish.astgen.levels import LevelBand, LevelOptions, level
from planish.astgen.naming import loop_hint
from planish.astgen.options import PLAIN, CodegenSettings, band_options, isolated_part, map_options
from planish.astgen.order import comes_after
from planish.astgen.place import NO_HOOKS, Hooks, Place
from planish.astgen.state import Instantiate, State, start
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Block, LoopFacts
from planish.ir.traverse import has_work
from planish.poly.isl.coalesce import coalesce, coalesce_function
from planish.poly.isl.expression import aff_expr, select_expr, set_condition
from planish.poly.isl.schedule_tree import SEQUENCES, Kind, kind_of, relation_below
from planish.poly.isl.to_list import list_maps, list_pieces, unite_maps

SET = isl.dim_type.set
IN, OUT = isl.dim_type.in_, isl.dim_type.out


def generate(
    schedule: isl.Schedule,
    instantiate: Instantiate,
    taken: frozenset[str],
    context: isl.Set | None = None,
    facts: Callable[[str], LoopFacts | None] = lambda name: None,
    settings: CodegenSettings = PLAIN,
    hooks: Hooks = NO_HOOKS,
    names: Sequence[str] = (),
) -> Block:
    """The nest that runs the instances of `schedule` in its order.

    `taken`: names that loops must not have. `context`: what is known of the parameters. `facts`: what a mark's name
    says about the loops of the band under it. `settings`: how loops are made that have no options. `hooks`: what is
    added to the code. `names`: the order of statements that may run in any order (else by name).

    Raises UnboundedError for a loop without a bound.
    """
    root = schedule.get_root()
    domain = schedule.get_domain()
    known = find_context(schedule)
    if context is not None:
        known = known.intersect(context.align_params(domain.get_space()))
    state = start(known, taken)
    return _finish(_Generator(instantiate, facts, settings, hooks, names).node(root, _executed(domain), state), state)


def generate_map(
    schedule: isl.UnionMap,
    context: isl.Set,
    options: isl.UnionMap,
    instantiate: Instantiate,
    taken: frozenset[str],
    settings: CodegenSettings = PLAIN,
    hooks: Hooks = NO_HOOKS,
    names: Sequence[str] = (),
    hints: Sequence[str] = (),
) -> Block:
    """The nest that runs the instances of a schedule map in the order of its values.

    `options` say how its loops are made (`{ [i, j] -> separate[1] }`), `settings` what else there is to say of that.
    `hooks`: what is added to the code. `names`: the order of statements that may run in any order (else by name).
    `hints`: names for the loops.

    Raises UnboundedError for a loop without a bound.
    """
    state = start(context.align_params(schedule.get_space()), taken)
    padded, total = _padded(_ordered(schedule, names, IN))
    maps = [m.reverse().intersect_params(state.context.params()) for m in padded]
    generator = _Generator(instantiate, hooks=hooks, names=names)
    hint = hints.__getitem__ if hints else _number_from(0)
    band = LevelBand(0, total, generator.act, hint, options=map_options(options, total, settings), hooks=hooks)
    return _finish(level(band, [Actor(m, 0) for m in maps], state, False), state)


def generate_at(
    place: Place,
    schedule: isl.UnionMap,
    instantiate: Instantiate,
    options: isl.UnionMap | None = None,
    added: isl.UnionMap | None = None,
    hooks: Hooks = NO_HOOKS,
    names: Sequence[str] = (),
) -> Block:
    """The nest that runs the instances at a place in the order of a schedule map, and those that are `added` for each
    value of the dimensions around. All that is known at the place is used, and its loops' variables may be.

    `options` speak of the new dimensions; `names` as in `generate`. Raises UnboundedError as that does."""
    state = place.state
    executed = place.instances if added is None else place.instances.union(added)
    padded, total = _padded(list_maps(schedule))
    if not padded:
        return Block(())
    wider = executed.reverse().flat_range_product(unite_maps(padded)).reverse()
    state = state.aligned(wider.get_space())
    deep = state.within.insert_dims(SET, state.depth, total)
    actors = [Actor(m.intersect_domain(deep), state.depth) for m in _ordered(wider, names)]
    chosen = LevelOptions() if options is None else map_options(options, total).shifted(state.depth)
    act = _Generator(instantiate, hooks=hooks, names=names).act
    hint = _number_from(state.depth)
    band = LevelBand(state.depth, state.depth + total, act, hint, options=chosen, hooks=hooks)
    grafts = level(band, [a for a in actors if not a.relation.is_empty()], state, False)
    return Block(tuple(materialise(grafts, state.context, state.dims)))


def _number_from(depth: int) -> Callable[[int], str]:
    """Names for loops that nobody has named."""
    return lambda i: f"c{depth + i}"


def _padded(maps: Sequence[isl.Map]) -> tuple[list[isl.Map], int]:
    """The parts of a schedule map over times of one length, and that length."""
    plain = [m.reset_tuple_id(OUT) if m.has_tuple_id(OUT) else m for m in maps]
    total = max((m.dim(OUT) for m in plain), default=0)
    return [pad_range(m, total) for m in plain], total


def _ordered(union: isl.UnionMap, names: Sequence[str], side: isl.dim_type = OUT) -> list[isl.Map]:
    """The maps of a union in the order of their statements, which are on one side of it."""
    maps = list_maps(union)
    if len(maps) < 2:
        return maps
    rank = {name: number for number, name in enumerate(names)}
    return sorted(maps, key=lambda m: rank.get(m.get_tuple_name(side) or "", len(rank)))


def _points(executed: isl.UnionMap, state: State) -> isl.Set:
    """The points at which anything runs, in one piece."""
    points = isl.Set.empty(state.within.get_space())
    for relation in list_maps(executed):
        points = points.union(relation.domain().intersect(state.within))
    return coalesce(points).simple_hull().to_set()


def _finish(grafts: Sequence[Graft], state: State) -> Block:
    """The nest of all that was generated, simplified with what is known of the parameters."""
    known = state.context
    nest = Block(tuple(materialise(grafts, known, ())))
    if not has_work(nest):
        return nest
    assumptions = () if known.plain_is_universe() else (set_condition(known, ()),)
    return simplify_block(nest, assumptions=assumptions, normal=True)


def find_context(schedule: isl.Schedule) -> isl.Set:
    """What the context nodes at the top of a tree say of the parameters."""
    node = schedule.get_root()
    context = isl.Set.universe(schedule.get_domain().get_space().params())
    while node.n_children() == 1:
        node = node.get_child(0)
        if kind_of(node) != Kind.context:
            break
        context = context.intersect(node.context_get_context().params())
    return context


def _executed(domain: isl.UnionSet) -> isl.UnionMap:
    space = domain.get_space().params().set_from_params()
    return isl.UnionMap.from_domain_and_range(isl.UnionSet.from_set(isl.Set.universe(space)), domain)


class _Generator:
    """One run: holds the callbacks that every node needs."""

    __slots__ = ("_facts", "_hooks", "_instantiate", "_names", "_settings")

    def __init__(
        self,
        instantiate: Instantiate,
        facts: Callable[[str], LoopFacts | None] = lambda name: None,
        settings: CodegenSettings = PLAIN,
        hooks: Hooks = NO_HOOKS,
        names: Sequence[str] = (),
    ) -> None:
        self._instantiate = instantiate
        self._facts = facts
        self._settings = settings
        self._hooks = hooks
        self._names = names

    def node(self, node: isl.ScheduleNode, executed: isl.UnionMap, state: State) -> list[Graft]:
        """The code of a subtree."""
        if executed.is_empty():
            return []
        kind = kind_of(node)
        if kind == Kind.leaf:
            return self.leaf(_ordered(executed, self._names), state)
        if kind == Kind.band:
            return self.band(node, executed, state)
        if kind in SEQUENCES:
            out: list[Graft] = []
            for i in range(node.n_children()):
                out += self.node(node.get_child(i), executed, state)
            return out
        return self.unary(node, executed, state)

    def unary(self, node: isl.ScheduleNode, executed: isl.UnionMap, state: State) -> list[Graft]:
        """A node with one child that adds no loop."""
        child = node.get_child(0)
        kind = kind_of(node)
        if kind == Kind.mark:
            name = node.mark_get_id().get_name()
            facts = self._facts(name)
            below = state if facts is None else state.marked(facts)
            return self.marked(name, child, executed, below) if self._hooks.marks else self.node(child, executed, below)
        if kind == Kind.context:
            return self.node(child, executed, state.assuming(node.context_get_context()))
        if kind == Kind.guard:
            guard = node.guard_get_guard()
            inner = self.node(child, executed, state.assuming(guard))
            return [Graft(g.code, g.guard.intersect(guard).gist(state.context), g.busy) for g in inner]
        if kind in (Kind.domain, Kind.filter, Kind.extension, Kind.expansion):
            return self.node(child, relation_below(node, executed), state)
        raise ValueError(f"a schedule tree has no node of type {kind}")

    def marked(self, name: str, child: isl.ScheduleNode, executed: isl.UnionMap, state: State) -> list[Graft]:
        """What a user makes of the code below a mark, where anything runs."""
        busy = _points(executed, state)
        here = state.assuming(busy)

        def inner() -> Block:
            return Block(tuple(materialise(self.node(child, executed, here), here.context, here.dims)))

        code = self._hooks.mark(Place(here, executed.intersect_domain(isl.UnionSet.from_set(busy))), name, inner)
        return [Graft(code.body, busy.gist(state.context))]

    def band(self, node: isl.ScheduleNode, executed: isl.UnionMap, state: State) -> list[Graft]:
        """The loops of a band, then its child."""
        members = node.band_n_member()
        child = node.get_child(0)
        if members == 0:
            return self.node(child, executed, state)
        partial = node.band_get_partial_schedule()
        wider = executed.reverse().flat_range_product(isl.UnionMap.from_multi_union_pw_aff(partial)).reverse()
        leaf = kind_of(child) == Kind.leaf
        band = LevelBand(
            state.depth,
            state.depth + members,
            self.act if leaf else lambda actors, at: self.node(child, unite_maps(a.relation for a in actors), at),
            lambda i: loop_hint(partial.get_at(i)),
            (state.facts, *(LoopFacts() for _ in range(members - 1))),
            band_options(node, state.depth, self._settings),
            isolated_part(node, state.depth),
            runs_after=None if leaf else lambda a, b: comes_after(child, a.name, b.name),
            coincident=tuple(bool(node.band_member_get_coincident(i)) for i in range(members)),
            hooks=self._hooks,
        )
        deep = state.within.insert_dims(SET, state.depth, members)
        inside = [m.intersect_domain(deep) for m in _ordered(wider, self._names)]
        actors = [Actor(m, state.depth) for m in inside if not m.is_empty()]
        return level(band, actors, state, band.part is not None)

    def act(self, actors: Sequence[Actor], state: State) -> list[Graft]:
        """The statements of actors at a point."""
        return self.leaf([actor.relation for actor in actors], state)

    def leaf(self, relations: Sequence[isl.Map], state: State) -> list[Graft]:
        """One statement for each instance that runs at the point; several of one statement run in their own order."""
        out: list[Graft] = []
        for relation in relations:
            here = coalesce(relation.intersect_domain(state.within))
            if here.is_empty():
                continue
            out += self.instances(here, state) if here.is_single_valued() else self.ordered_instances(here, state)
        return _grouped(out)

    def ordered_instances(self, relation: isl.Map, state: State) -> list[Graft]:
        """Loops over the instances of one statement that share a point of the schedule."""
        dims = relation.dim(OUT)
        identity = isl.Map.identity(relation.get_space().range().map_from_set()).reset_tuple_id(OUT)
        wider = relation.reverse().flat_range_product(identity).reverse()
        number = _number_from(state.depth)
        band = LevelBand(
            state.depth, state.depth + dims, self.act, lambda i: relation.get_dim_name(OUT, i) or number(i)
        )
        return level(band, [Actor(wider, state.depth)], state, False)

    def instances(self, relation: isl.Map, state: State) -> list[Graft]:
        """The statement at the one instance that `relation` gives for each point."""
        domain = relation.domain()
        guard = coalesce(domain.compute_divs()).gist(state.context)
        known = state.context if guard.plain_is_universe() else state.context.intersect(domain)
        function = coalesce_function(isl.PwMultiAff.from_map(relation).gist(known))
        if function.n_piece() == 1:
            only = list_pieces(function)[0][1]
            at = tuple(aff_expr(only.get_at(i), state.dims) for i in range(only.dim(OUT)))
        else:
            at = tuple(
                select_expr(_pieces(function.get_at(i).gist(known)), state.dims) for i in range(function.dim(OUT))
            )
        stmt = self._instantiate(relation.get_tuple_name(OUT), at)
        if self._hooks is NO_HOOKS:
            return [Graft((stmt,), guard)]
        return [Graft(self._hooks.statement(Place(state, isl.UnionMap.from_map(relation)), stmt), guard)]


def _pieces(function: isl.PwAff) -> list[tuple[isl.Set, isl.Aff]]:
    """The pieces of a function without those whose value another one's formula gives as well; conditions that are
    quick to test come first, since the last piece needs no test."""
    pieces: list[tuple[isl.Set, isl.Aff]] = []
    function.foreach_piece(lambda domain, value: pieces.append((domain, value)))
    kept: list[tuple[isl.Set, isl.Aff]] = []
    for number, (domain, value) in enumerate(pieces):
        for place, (other_domain, other) in enumerate(kept):
            if domain.is_subset(value.eq_set(other)):
                kept[place] = coalesce(other_domain.union(domain)), other
                break
        else:
            later = pieces[number + 1 :]
            mate = next((i for i, (_, other) in enumerate(later) if domain.is_subset(value.eq_set(other))), None)
            if mate is None:
                kept.append((domain, value))
            else:
                other_domain, other = later[mate]
                pieces[number + 1 + mate] = coalesce(other_domain.union(domain)), other
    return sorted(kept, key=lambda piece: count_tests(piece[0]))


def _grouped(grafts: list[Graft]) -> list[Graft]:
    """Statements of one point, whose order is free, with those of equal guards beside each other."""
    groups: list[list[Graft]] = []
    for graft in grafts:
        mates = next((g for g in groups if g[0].guard.plain_is_equal(graft.guard)), None)
        if mates is None:
            groups.append([graft])
        else:
            mates.append(graft)
    return [graft for group in groups for graft in group]


__all__ = ["UnboundedError", "generate", "generate_at", "generate_map"]
