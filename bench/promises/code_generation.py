"""The claims `code-generation`: AST generation beside isl's own, on isl's own inputs.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.codegen import astgen
from bench.codegen.astgen import Row
from bench.codegen.astgen_cases import WANTED, find_inputs, name_inputs
from bench.harness.record import geometric_mean
from bench.promises.claim import Claim, Note, at_least, at_most, below
from bench.promises.generated_nests import examine_rest

INPUTS = 348
SAMPLE_STEP, SAMPLE_SECONDS = 6, 45.0
"""The quick run takes every sixth input, once, and begins none later than this."""


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """All claims; `quick` races a sample in under a minute and says so in a note."""
    paths = find_inputs(None)
    if not paths and not stored:
        yield Note(f"skipped: isl's inputs are not here; {astgen.NOTHING}")
        return
    if stored:
        rows = astgen.stored()
        if rows and astgen.is_stale():
            yield Note("measured with another state of planish")
    elif quick:
        rows = race_sample(paths)
        yield Note(f"a sample: {len(rows)} of {len(paths)} inputs, generated once each")
    else:
        rows = astgen.race(paths, show=lambda line: None)
        astgen.store(rows)
    yield from judge(rows, len(rows) if quick else INPUTS, whole=astgen.stored() if quick else rows)
    yield from examine_rest(quick)


def race_sample(paths: Sequence[Path]) -> list[Row]:
    """Every sixth input, up to the deadline."""
    started = time.monotonic()
    astgen.warm_up()
    names = dict(zip(paths, name_inputs(paths), strict=True))
    out: list[Row] = []
    for path in paths[::SAMPLE_STEP]:
        if time.monotonic() - started > SAMPLE_SECONDS:
            break
        out.append(astgen.examine(path, names[path], WANTED, rounds=1))
    return out


def judge(rows: Sequence[Row], inputs: int, whole: Sequence[Row]) -> Iterator[Claim | Note]:
    """The claims on the rows of a race, of which there should be `inputs`; the notes name who is to blame. Of a sample
    one input is more than a per cent, so that shares are those of the `whole` race that is stored."""
    if not rows:
        yield Note("no race is stored: run `python -m bench.codegen.astgen`")
        return
    for what, select in BLAME.items():
        names = [row.name for row in rows if select(row)]
        if names:
            yield Note(f"{what} ({len(names)}): {', '.join(names[:12])}{' …' if len(names) > 12 else ''}")
    # An input that we do not answer is no better than one where we are worse.
    raced = [row for row in rows if not row.isl.failure]
    good = [row for row in raced if row.compared]
    yield at_least("astgen.verified", sum(row.verified for row in rows), inputs)
    yield from judge_shares([row for row in whole if not row.isl.failure])
    yield at_most("astgen.overhead_ratio", geometric_mean([row.overhead for row in good]), 0.9)
    yield Note(
        "with isl's bounds, too, computed once an entry: "
        f"mean {geometric_mean([row.hoisted for row in good]):.3f}, "
        f"worse {_share(raced, lambda row: row.compared and row.hoisted > 1):.3f}"
    )
    yield at_most("astgen.seconds_ratio", geometric_mean([row.seconds for row in good]), 2)
    yield below("astgen.worst_seconds", max(find_seconds(row) for row in rows), astgen.SECONDS)


def judge_shares(raced: Sequence[Row]) -> Iterator[Claim | Note]:
    """How many inputs are worse than isl's, by what runs and by the copies in the text."""
    if not raced:
        yield Note("no race is stored, and a sample tells no small shares: run `python -m bench.codegen.astgen`")
        return
    yield at_most("astgen.worse_share", _share(raced, lambda row: bool(row.ours.failure) or row.overhead > 1), 0.02)
    yield at_least("astgen.copies_share", _share(raced, keeps_copies), 0.95)


def keeps_copies(row: Row) -> bool:
    """Our text has no more statements than isl's."""
    return not row.ours.failure and row.ours.copies <= row.isl.copies


def find_seconds(row: Row) -> float:
    """Our generation time; the limit where it was exceeded."""
    return astgen.SECONDS if row.ours.failure.startswith(astgen.SILENT) else row.ours.seconds


BLAME: dict[str, Callable[[Row], object]] = {
    "no nest of ours": lambda row: row.ours.failure,
    "our nest is wrong": lambda row: row.ours.wrong,
    "isl's nest is wrong": lambda row: row.isl.wrong,
    "no run is small enough to verify": lambda row: not row.sizes and not row.refused,
    "more executed than isl's": lambda row: row.compared and row.overhead > 1,
    "more copies than isl's": lambda row: row.compared and not keeps_copies(row),
}


def _share(rows: Sequence[Row], select: Callable[[Row], bool]) -> float:
    return sum(map(select, rows)) / len(rows) if rows else 0.0
