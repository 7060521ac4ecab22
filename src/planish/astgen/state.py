"""What the generator knows at a point of the tree: the loops around it and the conditions that they ensure.

Schedule dimensions are the columns of `context`; `dims` gives the index expression for each.

>>> import islpy as isl
>>> start(isl.Set("[n] -> { : n >= 0 }"), frozenset({"n"})).depth
0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import islpy as isl

from planish.ir.expr import Expr
from planish.ir.nest import LoopFacts, Stmt

Instantiate = Callable[[str, tuple[Expr, ...]], Stmt]
"""Builds the code of one statement instance from the statement's name and the values of its iterators."""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The generator's place: `context` is a set over the schedule dimensions that holds here."""

    context: isl.Set
    dims: tuple[Expr, ...]
    taken: frozenset[str]
    facts: LoopFacts = LoopFacts()

    @property
    def depth(self) -> int:
        """Number of schedule dimensions so far."""
        return len(self.dims)

    def fresh(self, hint: str) -> str:
        """A name for a loop that no loop around and no parameter has."""
        name, number = hint, 1
        while name in self.taken:
            number += 1
            name = f"{hint}{number}"
        return name

    def assuming(self, condition: isl.Set) -> State:
        """The state inside a guard."""
        return replace(self, context=self.context.intersect(condition))

    def inside(self, dim: Expr, bounds: isl.Set, name: str | None) -> State:
        """The state inside a loop (or a single iteration) of one more dimension, whose values lie in `bounds`."""
        lifted = self.context.insert_dims(isl.dim_type.set, self.depth, 1)
        taken = self.taken if name is None else self.taken | {name}
        return replace(self, context=lifted.intersect(bounds), dims=(*self.dims, dim), taken=taken, facts=LoopFacts())


def start(context: isl.Set, taken: frozenset[str]) -> State:
    """The state at the root of the tree: `context` is a parameter set."""
    return State(isl.Set.from_params(context), (), taken)
