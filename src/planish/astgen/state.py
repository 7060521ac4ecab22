"""The stock: what the generator knows at a point of the tree, and what is still to be run there (section 4.2).

Schedule dimensions are the columns of `context` and `within`; `dims` gives the index expression for each.

>>> import islpy as isl
>>> start(isl.Set("[n] -> { : n >= 0 }"), frozenset({"n"})).depth
0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import islpy as isl

from planish.ir.expr import Expr
from planish.ir.nest import LoopFacts, Stmt
from planish.poly.isl.coalesce import coalesce

SET = isl.dim_type.set

Instantiate = Callable[[str, tuple[Expr, ...]], Stmt]
"""Builds the code of one statement instance from the statement's name and the values of its iterators."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A schedule dimension around a place: a loop over `name`, a single value (degenerate), or one copy of an unrolled
    loop, the `copy`-th from its first value on. `value` is the dimension's value, `stride` the distance of two of them.

    `coincident` is what the schedule says of the dimension; `isolated`: the place lies in the part set apart.
    """

    kind: Literal["loop", "degenerate", "unrolled"]
    value: Expr
    name: str | None = None
    stride: int = 1
    copy: int = 0
    coincident: bool = False
    isolated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The generator's place.

    `context`: the conditions that the code around ensures, a set over the schedule dimensions so far (`path`).
    `within`: the points of it that are to be run here; the others belong to other copies of the code.
    """

    context: isl.Set
    within: isl.Set
    path: tuple[Dimension, ...]
    taken: frozenset[str]
    facts: LoopFacts = LoopFacts()

    @property
    def depth(self) -> int:
        """Number of schedule dimensions so far."""
        return len(self.path)

    @property
    def dims(self) -> tuple[Expr, ...]:
        """The values of the schedule dimensions so far."""
        return tuple(dimension.value for dimension in self.path)

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

    def aligned(self, space: isl.Space) -> State:
        """The state with the parameters of a space as well."""
        return replace(self, context=self.context.align_params(space), within=self.within.align_params(space))

    def marked(self, facts: LoopFacts) -> State:
        """The state under a mark that says `facts` of the next loop."""
        return replace(self, facts=facts)

    def inside(self, dimension: Dimension, ensured: isl.Set, piece: isl.Set) -> State:
        """The state inside a loop (or a single iteration) of one more dimension: its bounds ensure that the point is
        in `ensured`; what runs is `piece` of that."""
        context = self.context.insert_dims(SET, self.depth, 1).intersect(ensured)
        within = self.within.insert_dims(SET, self.depth, 1).intersect(ensured).intersect(piece)
        if within.n_basic_set() > 1:
            within = coalesce(within)
        taken = self.taken if dimension.name is None else self.taken | {dimension.name}
        return State(context, within, (*self.path, dimension), taken)


def start(context: isl.Set, taken: frozenset[str]) -> State:
    """The state at the root of the tree: `context` is a parameter set."""
    known = isl.Set.from_params(context)
    return State(known, known, (), taken)
