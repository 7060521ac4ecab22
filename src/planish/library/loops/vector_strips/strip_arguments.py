"""What may be tuned of strips of vectors: rows at a time, iterations of inner loops at a time, accumulators of sums.

>>> StripShape.at(Point.of({"rows": 8})), StripShape.at(Point())
(StripShape(rows=8, unroll=None, chains=4), StripShape(rows=None, unroll=None, chains=4))
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.schedule.arguments import MODEL, Point, TuningArgument

CHAINS = 4
"""How many registers of accumulators are on their way at once: latencies of sums, times units."""
ROWS = TuningArgument("rows", (MODEL, 1, 2, 4, 8, 16), MODEL, "rows at a time, of those that share what they read")
UNROLL = TuningArgument("unroll", (MODEL, 1, 2, 4, 8), MODEL, "iterations of an inner loop at a time; the cheapest")
ACCUMULATORS = TuningArgument("accumulators", (1, 2, 4, 8, 16), CHAINS, "registers that a sum is made in, about")


@dataclass(frozen=True, slots=True)
class StripShape:
    """How strips are cut: so many `rows` at a time, None for as many as save reads; iterations of an inner loop
    (`unroll`), None for as many as are cheapest; and registers of accumulators (`chains`) for the sums of a loop."""

    rows: int | None = None
    unroll: int | None = None
    chains: int = CHAINS

    @classmethod
    def at(cls, point: Point) -> StripShape:
        """The shape at a point."""
        return cls(ROWS.chosen(point), UNROLL.chosen(point), ACCUMULATORS.number(point))


MODELLED = StripShape()
"""As the model has them."""
