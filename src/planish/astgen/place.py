"""The generator's current place, for user hooks: dimensions around a loop, statement or mark (section 4.3).

>>> from planish.astgen.formats import parse_input
>>> from planish.astgen.generate import generate_map
>>> from planish.astgen.checking.verify import record
>>> found = parse_input("{ S[i, j] -> [i, j] : 0 <= i < 9 and j = 2i } { : } { }", "pairs.in")
>>> seen = []
>>> hooks = Hooks(enter=lambda place: seen.append(place.dimensions[-1].kind))
>>> nest = generate_map(found.schedule_map, found.context, found.options, record, frozenset(), hooks=hooks)
>>> seen
['loop', 'degenerate']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import islpy as isl

from planish.astgen.state import Dimension, State
from planish.ir.expr import Expr
from planish.ir.index.simplify import simplify
from planish.ir.nest import Block, For, Stmt
from planish.poly.isl.expression import piecewise_expr, set_condition
from planish.poly.isl.to_list import list_maps


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A place in the nest: what is known there, and the instances that run, by values of the dimensions."""

    state: State
    instances: isl.UnionMap

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions around the place, outer ones first."""
        return self.state.path

    @property
    def known(self) -> isl.Set:
        """What the code around ensures: a set over the dimensions."""
        return self.state.context

    def subscripts(self, access: isl.Map) -> tuple[Expr, ...]:
        """Where an access goes, a relation from instances to elements, in terms of the loops around, whatever the
        schedule did to them. Raises ValueError where it is not one element."""
        reached = self.instances.apply_range(isl.UnionMap.from_map(access))
        parts = list_maps(reached.intersect_domain(isl.UnionSet.from_set(self.state.within)))
        if len(parts) != 1 or not parts[0].is_single_valued():
            raise ValueError(f"the access {access} is not to one element here")
        function = isl.PwMultiAff.from_map(parts[0])
        return tuple(self.value(function.get_at(i)) for i in range(function.dim(isl.dim_type.out)))

    def value(self, function: isl.PwAff) -> Expr:
        """A function of the dimensions, such as the place of an element in another layout, as an expression."""
        return simplify(piecewise_expr(function.gist(self.known), self.state.dims))

    def condition(self, points: isl.Set) -> Expr:
        """Whether the dimensions are in a set, such as that of a run-time check, given what is known; tests without a
        division come first, and those that follow are only made where it holds."""
        return simplify(set_condition(points.gist(self.known), self.state.dims))


def _keep(place: Place, loop: For) -> Stmt:
    return loop


def _pass(place: Place) -> None:
    return


def _only(place: Place, stmt: Stmt) -> tuple[Stmt, ...]:
    return (stmt,)


def _inside(place: Place, name: str, inner: Callable[[], Block]) -> Block:
    return inner()


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a user adds while code is generated.

    `enter(place)`: before what is inside a dimension is generated. `leave(place, loop)`: what stands for a loop that
    is done, at its place. `statement(place, stmt)`: what stands for a statement. `mark(place, name, inner)`: what
    stands for what is below a mark, where `inner()` generates that; `generate_at` makes other code there.
    """

    enter: Callable[[Place], None] = _pass
    leave: Callable[[Place, For], Stmt] = _keep
    statement: Callable[[Place, Stmt], tuple[Stmt, ...]] = _only
    mark: Callable[[Place, str, Callable[[], Block]], Block] = _inside

    @property
    def marks(self) -> bool:
        """Whether marks are of interest: else conditions below them may move out."""
        return self.mark is not _inside


NO_HOOKS = Hooks()
