"""Cuts of loops, so that fewer tests are left inside, chosen one by one (for a bound on the size).

A cut is known by its place: the points over which a loop runs, and the bound of a statement at which it is divided.

>>> plan = CutPlan(frozenset({"a"}))
>>> plan.cuts("a"), plan.cuts("b"), sorted(plan.offered)
(True, False, ['b'])
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CutPlan:
    """The places of cuts that are made, and those that could be, too, which are gathered on the way."""

    chosen: frozenset[str] = frozenset()
    offered: set[str] = field(default_factory=set)

    def cuts(self, place: str) -> bool:
        """Whether there is a cut at a place; offers it where there is none."""
        if place in self.chosen:
            return True
        self.offered.add(place)
        return False
