"""Dead stores: instances that store what another instance overwrites before anything reads it are left out, where one
iteration of a loop is all that is left.

Before: for i { a[i + 1] = b[i];  a[i] = c[i] }
After:  for i { if i == n - 1 { a[i + 1] = b[i] };  a[i] = c[i] }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.dependence import find_dependences
>>> from planish.poly.scop.extraction import extract_scop
>>> text = "kernel k(n; a: f64[n + 1], c: f64[n]) { for i in 0 .. n { a[i + 1] = 0.0 a[i] = c[i] } }"
>>> scop = extract_scop(parse_kernel(text))
>>> print(without_dead_stores(scop, find_dependences(scop)).statements[0].domain)
[n] -> { S0[i = -1 + n] : n > 0 }
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from planish.ir.conditional_accesses import conditional_store
from planish.ir.expr import Load, type_of
from planish.ir.nest import Reduce
from planish.ir.traverse import loads
from planish.poly.isl.op_budget import SHORT, budget
from planish.poly.scop.dependence import Dependences
from planish.poly.scop.extraction import Scop, Statement


def without_dead_stores(scop: Scop, dependences: Dependences) -> Scop:
    """The scop without the instances of such statements that are dead; the same scop where there are none, or isl does
    not tell within its bound."""
    if len({x.write.array for x in scop.statements}) == len(scop.statements):
        return scop
    try:
        with budget(scop.context.get_ctx(), SHORT):
            dead = _dead(scop, dependences)
            alive = {x.name: _left(x, dead) for x in scop.statements}
    except isl.Error:
        return scop
    if all(alive[x.name] is x.domain for x in scop.statements):
        return scop
    domain = isl.UnionSet.empty(scop.context.get_space())
    for own in alive.values():
        domain = domain.union(isl.UnionSet.from_set(own))
    statements = tuple(_restricted(x, alive[x.name]) for x in scop.statements)
    return replace(scop, statements=statements, schedule=scop.schedule.intersect_domain(domain))


def _dead(scop: Scop, dependences: Dependences) -> isl.UnionSet:
    """The instances that no read depends on, and whose cell a later one stores to for sure."""
    writes = isl.UnionMap.empty(scop.context.get_space())
    for statement in filter(_stores_for_sure, scop.statements):
        writes = writes.add_map(statement.write.relation)
    again = dependences.order.intersect(writes.apply_range(writes.reverse()))
    return again.domain().subtract(dependences.flow.domain())


def _stores_for_sure(statement: Statement) -> bool:
    """Whether each instance stores to the cell that its subscripts tell: under no condition on data, at a place that is
    no data."""
    stmt = statement.stmt
    if isinstance(stmt, Reduce) or statement.write.inexact or any(loads(x) for x in stmt.index):
        return False
    return conditional_store(stmt.value, Load(stmt.array, stmt.index, type_of(stmt.value))) is None


def _left(statement: Statement, dead: isl.UnionSet) -> isl.Set:
    """What is left of a statement's domain where that is one iteration of a loop, not none; else the domain."""
    own = dead.intersect(isl.UnionSet.from_set(statement.domain))
    if own.is_empty():
        return statement.domain
    left = statement.domain.subtract(isl.Set.from_union_set(own)).coalesce()
    return statement.domain if left.is_empty() or _fixed(left) <= _fixed(statement.domain) else left


def _fixed(points: isl.Set) -> int:
    """How many equations of its iterators all points of a set are solutions of: one of parameters alone, as for a loop
    that does not run, leaves no iteration out."""
    equations = (x for x in points.affine_hull().get_constraints() if x.is_equality())
    return sum(x.involves_dims(isl.dim_type.set, 0, points.n_dim()) for x in equations)


def _restricted(statement: Statement, domain: isl.Set) -> Statement:
    if domain is statement.domain:
        return statement
    accesses = tuple(replace(a, relation=a.relation.intersect_domain(domain)) for a in statement.accesses)
    return replace(statement, domain=domain, accesses=accesses)
