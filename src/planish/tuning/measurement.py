"""What comes of one point: measured beside the default, or why not.

>>> Measurement("ok", 1.0, 2.0).ratio, Measurement("ok", 0.0, 0.0).ratio, Measurement("wrong").ratio
(0.5, 1.0, inf)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from planish.schedule.arguments import Point
from planish.tuning.trial import TrialOutcome, TuningTrial


@dataclass(frozen=True, slots=True)
class Measurement:
    """What became of a point; the fields are those of `TuningTrial`."""

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

    @property
    def ratio(self) -> float:
        """What it takes of what the default takes, also where measuring was stopped; infinite where nothing was
        measured."""
        if self.outcome not in ("ok", "stopped") or self.value is None:
            return inf
        if not self.reference:
            return 1.0 if not self.value else inf
        return self.value / self.reference


def ratio_of(trial: TuningTrial) -> float:
    """The ratio of a trial, also of one that was stopped."""
    return Measurement(trial.outcome, trial.value, trial.reference).ratio


Evaluate = Callable[[Point, float], Measurement]
"""Makes and measures a point; the number is the best ratio so far: measuring stops where it cannot be reached. Where it
is infinite, the point is measured in full, also if its code was measured before."""
