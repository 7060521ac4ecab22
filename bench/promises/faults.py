"""The claims `faults`: without the clock, drop-ins of plain loops are right and no slower than compilers make them.

A call is slower by more than 3 %, and of more than 4 ns: less is not told from how code lies.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.harness.record import geometric_mean
from bench.promises.claim import Claim, Note, at_least, at_most
from bench.races.untimed import Row, race_all, summarise

SAMPLE = ("images",)
MEAN_BAR = 1.0


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """The geometric mean over each compiler's `-O3 -march=native` at three sizes, and how many calls are slower.
    Wrong is a loop with other results, and a file that compilers fail on."""
    found = list(race_all(SAMPLE if quick else (), 7 if quick else 15))
    rows = [x for x in found if isinstance(x, Row)]
    yield from (Note(str(x)) for x in found if not isinstance(x, Row) or x.is_slower)
    yield at_most("faults.untimed.wrong", len(found) - len(rows), 0)
    if not rows:
        return
    yield from (Note(x) for x in summarise(rows))
    for name in dict.fromkeys(x.compiler for x in rows):
        these = [x for x in rows if x.compiler == name]
        yield at_least(f"faults.untimed.{name}.mean", geometric_mean([x.ratio for x in these]), MEAN_BAR)
        yield at_most(f"faults.untimed.{name}.slower", sum(x.is_slower for x in these), 0)
