"""The Pareto front of trials that are compared by several things: those than which no other is better in all of them.

>>> from planish.schedule.arguments import Point
>>> from planish.tuning.trial import TuningTask, TuningTrial
>>> def trial(rows, seconds, size):
...     point, task = Point.of({"rows": rows}), TuningTask("kernel nest(; )", "native", "0f", "gcc 12")
...     return TuningTrial("ok", seconds, 1.0, more=(("bytes", size, 100.0),), point=point, task=task)
>>> [str(x.point) for x in find_front([trial(1, 1.0, 90.0), trial(2, 0.5, 120.0), trial(4, 0.6, 130.0)])]
['rows=2', 'rows=1']
"""

from __future__ import annotations

from collections.abc import Iterable

from planish.tuning.trial import TuningTrial


def find_front(trials: Iterable[TuningTrial]) -> tuple[TuningTrial, ...]:
    """The trials of the front, the best by the first thing first; of a point that was tried several times the last one
    counts. Trials that are compared by fewer things than others are left out."""
    latest = {x.point: x for x in trials if x.outcome == "ok"}
    most = max((len(x.more) for x in latest.values()), default=0)
    full = [x for x in latest.values() if len(x.more) == most]
    front = [x for x in full if not any(_is_better(y, x) for y in full)]
    # Points with the same code are one.
    return tuple(sorted({(x.code, x.ratios): x for x in reversed(front)}.values(), key=lambda x: x.ratios))


def _is_better(one: TuningTrial, other: TuningTrial) -> bool:
    """Whether a trial is no worse in anything, and better in something."""
    pairs = [*zip(one.ratios, other.ratios, strict=True)]
    return all(x <= y for x, y in pairs) and one.ratios != other.ratios
