"""What comes of one point: measured beside the default, or why not.

>>> Measurement("ok", 1.0, 2.0).ratio, Measurement("ok", 0.0, 0.0).ratio, Measurement("wrong").ratio
(0.5, 1.0, inf)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, fsum, inf, log
from typing import Literal, get_args

from planish.schedule.arguments import Point

TrialOutcome = Literal["ok", "stopped", "illegal", "compile", "wrong", "crash", "timeout", "died"]
"""`ok`: verified and measured; `stopped`: measuring ended, since it could not win; `illegal`: no legal schedule, or the
strategy makes nothing of it; `compile`: the compiler refuses it; `wrong`: it computes something else; `crash`: it
leaves its arrays or is killed by a signal; `timeout`: it did not end in time; `died`: the process that worked on it
died, which says nothing of the point."""
OUTCOMES: tuple[TrialOutcome, ...] = get_args(TrialOutcome)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What became of a point.

    `value` is what was measured (the median; lower is better) and `reference` the same of the default in the same race,
    both in `metric` (seconds or cycles); `samples` are all measurements in their order. `calls` are those that verified
    it, `worst` the largest relative difference in them. `script`: the schedule, where the point is one of a script with
    holes. `message`: of a failure. `code`: the digest of the C text. `more`: what it is compared by besides, the metric
    with its own value and the default's.
    """

    outcome: TrialOutcome
    value: float | None = None
    reference: float | None = None
    samples: tuple[float, ...] = ()
    metric: str = "seconds"
    calls: int = 0
    worst: float = 0.0
    script: str = ""
    message: str = ""
    code: str = ""
    more: tuple[tuple[str, float, float], ...] = ()

    @property
    def ratio(self) -> float:
        """What it takes of what the default takes, also where measuring was stopped; infinite where nothing was
        measured. What takes no time that a clock could tell is no failure: beside a default that takes none either, it
        is as good as that."""
        if self.outcome not in ("ok", "stopped") or self.value is None:
            return inf
        return _share(self.value, self.reference)

    @property
    def ratios(self) -> tuple[float, ...]:
        """What it takes of what the default takes, of all that it is compared by."""
        return self.ratio, *(_share(own, default) for _, own, default in self.more)

    def merit(self, things: int) -> float:
        """What a search makes small that compares by the first so many things: the geometric mean of their `ratios`.

        >>> both = Measurement("ok", 1.0, 2.0, more=(("bytes", 40.0, 20.0),))
        >>> both.merit(1), round(both.merit(2), 3)
        (0.5, 1.0)
        """
        ratios = self.ratios[:things]
        if len(ratios) == 1 or inf in ratios or 0.0 in ratios:
            return ratios[0]
        return exp(fsum(map(log, ratios)) / len(ratios))


def _share(value: float, default: float | None) -> float:
    """A value beside the default's; what takes nothing is as good as what takes nothing either."""
    if not default:
        return 1.0 if not value else inf
    return value / default


Evaluate = Callable[[Point, float], Measurement]
"""Makes and measures a point; the number is the best ratio so far: measuring stops where it cannot be reached. Where it
is infinite, the point is measured in full, also if its code was measured before."""
