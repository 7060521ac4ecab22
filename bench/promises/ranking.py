"""The claims `ranking`: what is taken without the clock is about as fast as what the clock would have chosen.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.guards.ranking import SAMPLE, format_report, measure_all, stored_rows
from bench.harness.contest import Rules
from bench.harness.record import geometric_mean
from bench.promises.claim import Claim, Note, at_most
from planish.run.toolchains.toolchain import choose_compiler

DATASET = "MEDIUM"


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """The regret of the first version; what another state of planish was measured for is told."""
    only = SAMPLE if quick else ()
    rules = Rules((choose_compiler(None),), budget=1.5, time_limit=60.0, full_check=False)
    rows = stored_rows(DATASET, only) if stored else measure_all(DATASET, only, rules)
    yield from (Note(x) for x in format_report(rows))
    if rows:
        regrets = [x.regret(1) for x in rows]
        yield at_most("ranking.first_over_winner", geometric_mean(regrets), 1.10)
        yield at_most("ranking.first_over_winner_worst", max(regrets), 1.5)
