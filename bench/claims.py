"""Prints every figure that an issue promises, measured here and now, one line each.

    python bench/claims.py spine            # everything (about an hour and a half the first time; can be resumed)
    python bench/claims.py spine --quick    # a sample, under a minute
    python bench/claims.py astgen           # the race of code generators on isl's own inputs (minutes)
    python bench/claims.py raising          # recall over the corpus, near misses, cost, and speed beside OpenBLAS
    python bench/claims.py library          # PolyBench, the DSP files, dense algebra and streams beside OpenBLAS
    python bench/claims.py isa              # instructions learnt, and the classes that they are of
    python bench/claims.py soundness        # cases, elementary loops, random files, reports, times (hours; resumable)
    python bench/claims.py house            # how the code is kept: nothing is measured (seconds)
    python bench/claims.py spine --stored   # measures no kernels, takes the results that are there
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

import claims_astgen
import claims_house
import claims_isa
import claims_library
import claims_raising
import claims_schedule
import claims_soundness
import claims_spine
from claim import Claim, Examine

ISSUES: Mapping[str, Examine] = {
    "spine": claims_spine.examine,
    "astgen": claims_astgen.examine,
    "schedule": claims_schedule.examine,
    "raising": claims_raising.examine,
    "library": claims_library.examine,
    "isa": claims_isa.examine,
    "soundness": claims_soundness.examine,
    "house": claims_house.examine,
}
"""Each issue's claims by its name; a new one is a module with an `examine` and a line here."""


def main(arguments: Sequence[str]) -> int:
    """0 where every claim holds, 1 where one is short, 2 for an unknown issue, 130 when interrupted."""
    parser = argparse.ArgumentParser(description="Prints what an issue promises beside what is found.")
    parser.add_argument("issue", metavar="ISSUE", help=f"one of: {', '.join(ISSUES)}")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", action="store_true", help="a sample with smaller sizes, under a minute")
    mode.add_argument("--stored", action="store_true", help="measure no kernels, take the results that are there")
    asked = parser.parse_args(arguments)
    examine = ISSUES.get(asked.issue)
    if examine is None:
        print(f"no claims are known for `{asked.issue}`; there are: {', '.join(ISSUES)}", file=sys.stderr)
        return 2
    short = 0
    try:
        for item in examine(asked.quick, asked.stored):
            print(item, flush=True)
            short += isinstance(item, Claim) and not item.ok
    except KeyboardInterrupt:
        print("interrupted: what was measured is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
