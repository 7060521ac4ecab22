"""The claims `loops`: plain loops are no slower as drop-ins than what either compiler makes of them, and in lanes.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.harness.record import geometric_mean
from bench.promises.claim import Claim, Note, at_least
from bench.races.loops import BEHIND, race_all, summarise
from planish.options import Options

SAMPLE = ("reductions",)
MEAN_BAR, LANES_BAR = 1.5, 0.9


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """The geometric mean over each compiler with `-ffast-math`, the slowest loop, and the share that has vectors;
    built without the clock."""
    raced = []
    for x in race_all(SAMPLE if quick else (), Options(measure=False)):
        raced.append(x)
        if x.wrong or min(x.ratios.values()) < BEHIND:
            yield Note(str(x))
    if not raced:
        return
    yield from (Note(x) for x in summarise(raced))
    for name in raced[0].ratios:
        ratios = [x.ratios[name] for x in raced]
        yield at_least(f"loops.{name}.mean", geometric_mean(ratios), MEAN_BAR)
        yield at_least(f"loops.{name}.worst", min(ratios), BEHIND)
    yield at_least("loops.vectors", sum(x.vectors for x in raced) / len(raced), LANES_BAR)
    yield at_least("loops.right", sum(not x.wrong for x in raced) / len(raced), 1.0)
