"""From a schedule tree to a nest: each kind of node adds loops, guards or an order (section 5 of the paper).

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

from collections.abc import Callable

import islpy as isl

from planish.astgen.bounds import Range, UnboundedError, find_copies, find_range, value_set
from planish.astgen.naming import loop_hint
from planish.astgen.separate import separate
from planish.astgen.state import Instantiate, State, start
from planish.ir.expr import Const, Expr, Var, index
from planish.ir.nest import Block, For, If, LoopFacts, Stmt
from planish.ir.types import INDEX
from planish.poly.expression import add, aff_expr, normalise, set_condition
from planish.poly.listing import list_maps, list_pieces
from planish.poly.trees import SEQUENCES, Kind, has_band, kind_of, loop_type_of

SET = isl.dim_type.set
SEPARATION_BUDGET = 12
"""The most pieces one loop is cut into; past it, one loop with guards inside."""

Continue = Callable[[isl.UnionMap, State], list[Stmt]]


def generate(
    schedule: isl.Schedule,
    instantiate: Instantiate,
    taken: frozenset[str],
    context: isl.Set | None = None,
    facts: Callable[[str], LoopFacts | None] = lambda name: None,
) -> Block:
    """The nest that runs the instances of `schedule` in its order.

    `taken`: names that loops must not have. `context`: what is known of the parameters. `facts`: what a mark's name
    says about the loops of the band under it. Raises UnboundedError for a loop without a bound.
    """
    domain = schedule.get_domain()
    if context is None:
        context = isl.Set.universe(domain.get_space().params())
    executed = isl.UnionMap.from_domain_and_range(_origin(domain), domain)
    state = start(context.align_params(domain.get_space()), taken)
    return Block(tuple(_Generator(instantiate, facts).node(schedule.get_root(), executed, state)))


def generate_map(
    schedule: isl.UnionMap,
    context: isl.Set,
    options: isl.UnionMap,
    instantiate: Instantiate,
    taken: frozenset[str],
) -> Block:
    """The nest that runs the instances of a schedule map in the order of its values; `options` say how its loops are
    made (`{ [i, j] -> separate[1] }`). Raises UnboundedError for a loop without a bound."""
    order = isl.MultiUnionPwAff.from_union_map(schedule)
    tree = isl.Schedule.from_domain(schedule.domain()).insert_partial_schedule(order)
    return generate(tree, instantiate, taken, context)


def _origin(domain: isl.UnionSet) -> isl.UnionSet:
    space = domain.get_space().params().set_from_params()
    return isl.UnionSet.from_set(isl.Set.universe(space))


def points(executed: isl.UnionMap, depth: int) -> isl.Set:
    """The points of the schedule dimensions at which anything runs."""
    domain = executed.domain()
    if domain.is_empty():
        space = domain.get_space().params().set_from_params().add_dims(SET, depth)
        return isl.Set.empty(space)
    return isl.Set.from_union_set(domain)


class _Generator:
    """One run: holds the two callbacks that every node needs."""

    __slots__ = ("_facts", "_instantiate")

    def __init__(self, instantiate: Instantiate, facts: Callable[[str], LoopFacts | None]) -> None:
        self._instantiate = instantiate
        self._facts = facts

    def node(self, node: isl.ScheduleNode, executed: isl.UnionMap, state: State) -> list[Stmt]:
        """The code of a subtree."""
        if executed.is_empty():
            return []
        kind = kind_of(node)
        if kind == Kind.leaf:
            return self.leaf(executed, state)
        if kind == Kind.band:
            return self.band(node, 0, executed, state)
        if kind in SEQUENCES:
            out: list[Stmt] = []
            for i in range(node.n_children()):
                out += self.node(node.get_child(i), executed, state)
            return out
        return self.unary(node, executed, state)

    def unary(self, node: isl.ScheduleNode, executed: isl.UnionMap, state: State) -> list[Stmt]:
        """A node with one child that adds no loop."""
        child = node.get_child(0)
        kind = kind_of(node)
        if kind == Kind.domain:
            return self.node(child, executed, state)
        if kind == Kind.filter:
            return self.node(child, executed.intersect_range(node.filter_get_filter()), state)
        if kind == Kind.mark:
            facts = self._facts(node.mark_get_id().get_name())
            known = state if facts is None else State(state.context, state.dims, state.taken, facts)
            return self.node(child, executed, known)
        if kind == Kind.context:
            return self.node(child, executed, state.assuming(node.context_get_context()))
        if kind == Kind.guard:
            inner = state.assuming(node.guard_get_guard())
            return _guarded(node.guard_get_guard(), state, self.node(child, executed, inner))
        if kind == Kind.extension:
            added = node.extension_get_extension().intersect_domain(executed.domain())
            return self.node(child, executed.union(added), state)
        if kind == Kind.expansion:
            return self.node(child, executed.apply_range(node.expansion_get_expansion()), state)
        raise ValueError(f"a schedule tree has no node of type {kind}")

    def band(self, node: isl.ScheduleNode, member: int, executed: isl.UnionMap, state: State) -> list[Stmt]:
        """The loops of a band from `member` on, then its child."""
        if member == node.band_n_member():
            return self.node(node.get_child(0), executed, state)
        partial = node.band_get_partial_schedule().get_at(member)
        values = isl.UnionMap.from_union_pw_aff(partial)
        wider = executed.reverse().flat_range_product(values).reverse()
        option = loop_type_of(node, member)
        facts = state.facts if member == 0 else LoopFacts()
        inner_state = State(state.context, state.dims, state.taken, facts)

        def inside(rest: isl.UnionMap, at: State) -> list[Stmt]:
            return self.band(node, member + 1, rest, at)

        if option == isl.ast_loop_type.unroll:
            return _unrolled(wider, inner_state, loop_hint(partial), inside)
        last = member + 1 == node.band_n_member() and not has_band(node.get_child(0))
        wants = option == isl.ast_loop_type.separate or (option == isl.ast_loop_type.default and last)
        return _loops(wider, inner_state, loop_hint(partial), wants, inside)

    def leaf(self, executed: isl.UnionMap, state: State) -> list[Stmt]:
        """One statement for each instance that runs at the point; several of one statement run in their own order."""
        out: list[Stmt] = []
        for relation in list_maps(executed):
            here = relation.intersect_domain(state.context)
            if here.is_empty():
                continue
            if here.is_single_valued():
                out += self.instances(here, state)
            else:
                out += self.ordered_instances(here, state)
        return out

    def ordered_instances(self, relation: isl.Map, state: State) -> list[Stmt]:
        """Loops over the instances of one statement that share a point of the schedule."""
        identity = isl.UnionMap.from_map(relation.range().identity())
        dims = relation.dim(isl.dim_type.out)

        def add_dimension(position: int, executed: isl.UnionMap, at: State) -> list[Stmt]:
            if position == dims:
                return self.leaf(executed, at)
            values = list_maps(identity)[0].reset_tuple_id(isl.dim_type.out)
            one = values.project_out(isl.dim_type.out, position + 1, dims - position - 1)
            one = one.project_out(isl.dim_type.out, 0, position)
            wider = executed.reverse().flat_range_product(isl.UnionMap.from_map(one)).reverse()
            hint = relation.get_dim_name(isl.dim_type.out, position) or f"c{at.depth}"
            return _loops(wider, at, hint, False, lambda rest, deeper: add_dimension(position + 1, rest, deeper))

        return add_dimension(0, isl.UnionMap.from_map(relation), state)

    def instances(self, relation: isl.Map, state: State) -> list[Stmt]:
        """The statement at the one instance that `relation` gives for each point."""
        name = relation.get_tuple_name(isl.dim_type.out)
        out: list[Stmt] = []
        for domain, instance in list_pieces(isl.PwMultiAff.from_map(relation).coalesce()):
            simple = instance.gist(state.context.intersect(domain))
            at = tuple(normalise(aff_expr(simple.get_at(i), state.dims)) for i in range(simple.dim(isl.dim_type.out)))
            out += _guarded(domain, state, [self._instantiate(name, at)])
        return out


def _guarded(condition: isl.Set, state: State, body: list[Stmt]) -> list[Stmt]:
    """The body under what `condition` adds to what is known."""
    if not body:
        return []
    rest = condition.gist(state.context)
    if rest.plain_is_universe() or state.context.is_subset(condition):
        return body
    return [If(set_condition(rest, state.dims), Block(tuple(body)))]


def _unrolled(executed: isl.UnionMap, state: State, hint: str, inside: Continue) -> list[Stmt]:
    """A copy of the body for each value of the newest dimension; a loop where their number is not constant."""
    position = state.depth
    lifted = state.context.insert_dims(SET, position, 1)
    domain = points(executed, position + 1).intersect(lifted)
    if domain.is_empty():
        return []
    try:
        copies = find_copies(domain, position)
    except UnboundedError:
        return _loop(domain, executed, state, hint, inside)
    base = aff_expr(copies.base, (*state.dims, index(0)))
    out: list[Stmt] = []
    for number in range(copies.count):
        value = value_set(copies, number, position)
        rest = executed.intersect_domain(isl.UnionSet.from_set(value))
        if rest.is_empty():
            continue
        known = state.inside(normalise(add(base, index(number))), value, None)
        out += inside(rest, known)
    return out


def _loops(executed: isl.UnionMap, state: State, hint: str, cut: bool, inside: Continue) -> list[Stmt]:
    """One loop, or several one after the other, over the newest dimension."""
    position = state.depth
    lifted = state.context.insert_dims(SET, position, 1)
    domain = points(executed, position + 1).intersect(lifted).coalesce()
    if domain.is_empty():
        return []
    if cut:
        domains = [m.domain().intersect(lifted) for m in list_maps(executed)]
        if len(domains) > 1 or domain.n_basic_set() > 1:
            pieces = separate(domains, SEPARATION_BUDGET)
            if pieces is not None and len(pieces) > 1:
                out: list[Stmt] = []
                for piece in pieces:
                    part = executed.intersect_domain(isl.UnionSet.from_set(piece))
                    out += _loop(piece, part, state, hint, inside)
                return out
    return _loop(domain, executed, state, hint, inside)


def _loop(domain: isl.Set, executed: isl.UnionMap, state: State, hint: str, inside: Continue) -> list[Stmt]:
    """One loop over the newest dimension, under the conditions on the outer ones that it needs."""
    position = state.depth
    outer = domain.project_out(SET, position, 1).compute_divs()
    guard = isl.Set.from_basic_set(outer.simple_hull()) if outer.n_basic_set() > 1 else outer
    known = state.assuming(guard)
    lifted = known.context.insert_dims(SET, position, 1)
    bounds = find_range(domain, position, lifted, state.dims)
    body = _body(domain, bounds, executed, known, hint, inside)
    return _guarded(guard, _knowing_empty(bounds, state), body)


def _knowing_empty(bounds: Range, state: State) -> State:
    """What is known, together with the conditions without which the loop has no iteration anyway."""
    if bounds.only is not None:
        return state
    lifted = state.context.insert_dims(SET, state.depth, 1)
    runs = lifted.intersect(bounds.hull).project_out(SET, state.depth, 1)
    return state.assuming(isl.Set.from_basic_set(runs.simple_hull().remove_divs()))


def _body(
    domain: isl.Set, bounds: Range, executed: isl.UnionMap, state: State, hint: str, inside: Continue
) -> list[Stmt]:
    """The loop itself, or its body where there is one value only; `domain` has its points, `bounds` their range."""
    if bounds.only is not None:
        return inside(executed, state.inside(bounds.only, bounds.hull, None))
    if isinstance(bounds.lower, Const) and isinstance(bounds.upper, Const) and bounds.lower == bounds.upper:
        return inside(executed, state.inside(bounds.lower, bounds.hull, None))
    name = state.fresh(hint)
    var: Expr = Var(name, INDEX)
    ensured = bounds.hull.intersect(_congruent(domain, state.depth, bounds.stride))
    body = inside(executed, state.inside(var, ensured, name))
    if not body:
        return []
    upper = normalise(add(bounds.upper, index(1)))
    return [For(name, bounds.lower, upper, bounds.stride, Block(tuple(body)), state.facts)]


def _congruent(domain: isl.Set, position: int, stride: int) -> isl.Set:
    """The points on the loop's stride, which was found for the same domain."""
    if stride <= 1:
        return isl.Set.universe(domain.get_space())
    offset = domain.get_stride_info(position).get_offset()
    variable = isl.Aff.var_on_domain(offset.get_domain_local_space(), SET, position)
    remainder = variable.sub(offset).mod_val(isl.Val.int_from_si(domain.get_ctx(), stride))
    return remainder.zero_basic_set().to_set()


__all__ = ["UnboundedError", "generate", "points"]
