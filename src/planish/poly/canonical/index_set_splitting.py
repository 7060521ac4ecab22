"""Index-set splitting: a statement of which only one iteration carries a dependence is cut there, so that the rest is
free.

In the all-pairs shortest path, `p[i, j] = min(p[i, j], p[i, k] + p[k, j])`, the loop over j carries a dependence, but
only from and to j = k. Cut into j < k, j = k and j > k, the first and the last run in lanes.

>>> import islpy as isl
>>> carried = isl.Map("{ S[k, j] -> S[k, j'] : j < j' and (j = k or j' = k) }")
>>> print(find_cut(carried, 1))
{ [i0, j] -> [(i0)] }
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from planish.poly.isl.to_list import list_maps
from planish.poly.scop.extraction import Scop, Statement

IN, OUT, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


def split_statements(scop: Scop, order: isl.UnionMap) -> Scop:
    """The scop with statements cut where that frees a loop; the same scop where nothing is to be cut.

    `order`: the pairs of instances of the scop, earlier to later, that keep their order.
    """
    parts = {s.name: _parts(s, order) for s in scop.statements}
    if all(len(p) == 1 for p in parts.values()):
        return scop
    statements: list[Statement] = []
    renaming = isl.UnionPwMultiAff.empty(scop.context.get_space())
    for statement in scop.statements:
        for number, domain in enumerate(parts[statement.name]):
            name = statement.name if len(parts[statement.name]) == 1 else f"{statement.name}_{number}"
            statements.append(_restricted(statement, name, domain))
            identity = statement.domain.identity().set_tuple_name(IN, name)
            renaming = renaming.add_pw_multi_aff(isl.PwMultiAff.from_map(_on(identity, domain.set_tuple_name(name))))
    schedule = scop.schedule.pullback_union_pw_multi_aff(renaming)
    return replace(scop, statements=tuple(statements), schedule=schedule)


def _on(identity: isl.Map, domain: isl.Set) -> isl.Map:
    return identity.intersect_domain(domain)


def _restricted(statement: Statement, name: str, domain: isl.Set) -> Statement:
    accesses = tuple(
        replace(a, relation=a.relation.intersect_domain(domain).set_tuple_name(IN, name)) for a in statement.accesses
    )
    return replace(statement, name=name, domain=domain.set_tuple_name(name), accesses=accesses)


def _parts(statement: Statement, order: isl.UnionMap) -> list[isl.Set]:
    """The pieces of a statement's domain, cut along every loop that carries dependences of one iteration only."""
    own = isl.UnionSet.from_set(statement.domain)
    inside = list_maps(order.intersect_domain(own).intersect_range(own))
    if not inside:
        return [statement.domain]
    pieces = [statement.domain]
    for dimension in range(1 if len(statement.iterators) > 1 else 0, len(statement.iterators)):
        carried = _carried(inside[0], dimension)
        cut = None if carried.is_empty() else find_cut(carried, dimension)
        if cut is not None:
            variable = isl.Aff.var_on_domain(cut.get_domain_local_space(), SET, dimension)
            sides = (variable.lt_set(cut), variable.eq_set(cut), variable.gt_set(cut))
            pieces = [p.intersect(side.set_tuple_name(statement.name)) for p in pieces for side in sides]
    return [p for p in pieces if not p.is_empty()]


def _carried(inside: isl.Map, dimension: int) -> isl.Map:
    for i in range(dimension):
        inside = inside.equate(IN, i, OUT, i)
    return inside.order_lt(IN, dimension, OUT, dimension)


def find_cut(carried: isl.Map, dimension: int) -> isl.Aff | None:
    """The value of a dimension, as a function of the outer ones, at which every carried dependence begins or ends."""
    for basic in carried.get_basic_maps():
        for side in (basic.domain(), basic.range()):
            value = _fixed_value(isl.Set.from_basic_set(side), dimension)
            if value is not None and _covers(carried, value, dimension):
                return value
    return None


def _fixed_value(points: isl.Set, dimension: int) -> isl.Aff | None:
    hull = points.reset_tuple_id().affine_hull()
    for constraint in hull.get_constraints():
        if not constraint.is_equality() or not constraint.involves_dims(SET, dimension, 1):
            continue
        after = points.dim(SET) - dimension - 1
        step = constraint.get_coefficient_val(SET, dimension)
        if abs(int(step.to_python())) == 1 and not (after and constraint.involves_dims(SET, dimension + 1, after)):
            return constraint.get_bound(SET, dimension)
    return None


def _covers(carried: isl.Map, value: isl.Aff, dimension: int) -> bool:
    variable = isl.Aff.var_on_domain(value.get_domain_local_space(), SET, dimension)
    on = variable.eq_set(value).set_tuple_name(carried.get_tuple_name(IN))
    left = carried.subtract_domain(on).subtract_range(on)
    return bool(left.is_empty())
