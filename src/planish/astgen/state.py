"""The stock: what the generator knows at a point of the tree, and what is still to be run there (section 4.2).

Schedule dimensions are the columns of `context` and `within`; `dims` gives the index expression for each.

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
from planish.poly.coalesce import coalesce

SET = isl.dim_type.set

Instantiate = Callable[[str, tuple[Expr, ...]], Stmt]
"""Builds the code of one statement instance from the statement's name and the values of its iterators."""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The generator's place.

    `context`: the conditions that the code around ensures, a set over the schedule dimensions so far. `within`: the
    points of it that are to be run here; the others belong to other copies of the code.
    """

    context: isl.Set
    within: isl.Set
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
        return replace(self, context=self.context.intersect(condition), within=self.within.intersect(condition))

    def marked(self, facts: LoopFacts) -> State:
        """The state under a mark that says `facts` of the next loop."""
        return replace(self, facts=facts)

    def inside(self, dim: Expr, ensured: isl.Set, piece: isl.Set, name: str | None) -> State:
        """The state inside a loop (or a single iteration) of one more dimension: its bounds ensure that the point is
        in `ensured`; what runs is `piece` of that."""
        context = self.context.insert_dims(SET, self.depth, 1).intersect(ensured)
        within = self.within.insert_dims(SET, self.depth, 1).intersect(ensured).intersect(piece)
        if within.n_basic_set() > 1:
            within = coalesce(within)
        taken = self.taken if name is None else self.taken | {name}
        return State(context, within, (*self.dims, dim), taken)


def start(context: isl.Set, taken: frozenset[str]) -> State:
    """The state at the root of the tree: `context` is a parameter set."""
    known = isl.Set.from_params(context)
    return State(known, known, (), taken)
