"""What a search is: it suggests a point, and hears what came of points, its own and those that were known before.

>>> from planish.schedule.arguments import Point
>>> class Constant:
...     name = "constant"
...     def suggest(self): return Point()
...     def expect(self, point): pass
...     def hear(self, point, ratio): pass
>>> isinstance(Constant(), TuningSearch)
True
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from planish.schedule.arguments import Point


@runtime_checkable
class TuningSearch(Protocol):
    """A search in a space. The same seed, and the same ratios heard, give the same points."""

    name: str

    def suggest(self) -> Point | None:
        """The next point, which may be one that is known; None at the end of the space."""

    def expect(self, point: Point) -> None:
        """A point that is being measured, of which it may hear after others are suggested: another one is more use."""

    def hear(self, point: Point, ratio: float) -> None:
        """What came of a point: its time over the default's; infinite where it failed."""
