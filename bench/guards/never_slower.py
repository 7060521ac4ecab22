"""Each drop-in beside the best compiler's own code, at three sizes: in the first cache, in the second, and in memory.

    python -m bench.guards.never_slower                       # all examples and cases, with the clock and without
    python -m bench.guards.never_slower --clock untimed --fp reassociate
    python -m bench.guards.never_slower my.c --clock untimed  # one file

The original is compiled by every compiler with `-O3 -march=native`, with `-ffast-math` as well where `--fp` allows what
that does to sums; the drop-in by the command that a build prints. All take turns, so that what else the machine does
falls on all; a race that seems lost is run again, and all samples count. What is judged of a file is stored with the
state of planish, so that a run goes on where it was stopped; the exit code is 1 where a drop-in is slower.

>>> row = Row("f.c f untimed reassociate", "fused", "n=4096", "gcc", 0.9)
>>> row.is_slower, str(row)
(True, 'f.c f untimed reassociate, fused, n=4096: 0.90x of gcc: SLOWER')
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from bench.guards.reported import AFTER, BEFORE, NO_LOOP, Course, build_contestants, files, options_for
from bench.harness.contest import digest
from bench.harness.journal import Journal
from bench.harness.places import RESULTS
from bench.harness.suite import read_source
from planish.build.functions import FunctionResult
from planish.build.job import make_workbench
from planish.build.lower import known_arguments
from planish.core.diagnostic import PlanishError
from planish.ir.types import Floats
from planish.pipeline import build_file
from planish.report.account import account_for
from planish.run.calls.passing import signature_of
from planish.run.calls.signature import CallCase
from planish.run.sizes.workloads import probe_cases
from planish.run.timing.clock import ClockError, Timing, measure
from planish.run.toolchains.toolchain import choose_compiler
from planish.run.workbench import Reference
from planish.target.load import load_target

Clock = Literal["timed", "untimed"]
CLOCKS: tuple[Clock, ...] = ("timed", "untimed")
LEAST = 0.97
"""What is nearer is the clock's noise."""
SECONDS = 0.4
"""For a race at one size."""
RERUNS = 3
STORE = RESULTS / "never_slower.jsonl"


@dataclass(frozen=True, slots=True)
class Row:
    """How many times as fast as the fastest rival a version is in a call: by the medians or, where these say that it is
    slower, by the fast samples if that is more."""

    place: str
    version: str
    call: str
    rival: str
    ratio: float

    @property
    def is_slower(self) -> bool:
        """Whether it is, by more than the clock is off."""
        return self.ratio < LEAST

    def __str__(self) -> str:
        told = ": SLOWER" if self.is_slower else ""
        return f"{self.place}, {self.version}, {self.call}: {self.ratio:.2f}x of {self.rival}{told}"


def judge_file(path: Path, clock: Clock, fp: Floats) -> dict[str, Any]:
    """The rows of the functions of a file that got new nests, and what could not be judged."""
    options = replace(options_for(path, fp, 2.0), measure=clock == "timed")
    rows: list[Row] = []
    told: list[str] = []
    try:
        built = build_file(read_source(path), options)
    except PlanishError as error:
        known = error.diagnostic.code == NO_LOOP
        return {"rows": [], "told": [] if known else [f"{path.name}: not built: {error.diagnostic.message}"]}
    command, target = shlex.split(account_for(built, options).compile), load_target(options.target)
    with tempfile.TemporaryDirectory(prefix="planish-slower-") as folder:
        bench = make_workbench(options, target, Path(folder), built.source)
        for result in built.functions:
            signature, selection = signature_of(result.function), result.selection
            if signature is None or selection is None or selection.version is None:
                continue
            course = Course(
                built.source.text, built.text, signature, choose_compiler(command[0]), tuple(command[1:]),
                (path.parent,), Path(folder), Reference(built.source.text, bench), selection.version.tolerance(fp),
            )  # fmt: skip
            place = f"{path.name} {result.function.name} {clock} {fp}"
            known_sizes = tuple(
                known_arguments(p, result.function, built.source.text) for p in result.plans if p.prepared is not None
            )
            calls = probe_cases(result.function, known_sizes, {}, target.caches, built.source)
            try:
                found = [*race_calls(place, selection.version.label, course, calls or _timed(result), fp)]
            except PlanishError as error:
                told.append(f"{place}: {error.diagnostic.message.splitlines()[0]}")
                continue
            rows += found
            if not found:
                told.append(f"{place}: {selection.version.label}: no call is timed")
    return {"rows": [asdict(x) for x in rows], "told": told}


def _timed(result: FunctionResult) -> tuple[CallCase, ...]:
    """The call that a build timed, where there are no sizes that could be others."""
    selection = result.selection
    return () if selection is None or selection.clock is None else (selection.clock,)


def race_calls(place: str, version: str, course: Course, calls: Sequence[CallCase], fp: Floats) -> Iterator[Row]:
    """A row for each call that all contestants come through."""
    libraries = build_contestants(course, fp)
    racing = [(x, y) for x, y in libraries.items() if x != BEFORE]
    for call in calls:
        try:
            times = _run(racing, course, call)
            for _ in range(RERUNS):
                if _worst(times)[1] >= LEAST:
                    break
                times = [x.joined(y) for x, y in zip(times, _run(racing, course, call), strict=True)]
        except ClockError:
            continue
        rival, ratio = _worst(times)
        yield Row(place, version, call.describe(course.signature), rival, ratio)


def _run(racing: Sequence[tuple[str, Path]], course: Course, call: CallCase) -> list[Timing]:
    return [*measure(racing, course.signature, call, SECONDS, 5, patience=8.0)]


def _worst(times: Sequence[Timing]) -> tuple[str, float]:
    """The rival that is fastest beside the drop-in, and the drop-in's speed over its."""
    (own,) = (x for x in times if x.label == AFTER)
    least = "", math.inf
    for x in times:
        if x is own:
            continue
        middle = x.median / own.median
        ratio = middle if middle >= LEAST else max(middle, x.low / own.low)
        if ratio < least[1]:
            least = x.label, ratio
    return least


def judge_all(paths: Sequence[Path], clocks: Sequence[Clock], modes: Sequence[Floats]) -> Iterator[Row | str]:
    """Rows as they are found, and what could not be judged; what is stored of this very planish is taken."""
    work = {
        f"{path.name} {clock} {fp} {digest(path.read_text())[:12]}": partial(judge_file, path, clock, fp)
        for clock in clocks for fp in modes for path in paths
    }  # fmt: skip
    for _, found in Journal(STORE).run(work):
        yield from (Row(**x) for x in found["rows"])
        yield from found["told"]


def main(arguments: Sequence[str]) -> int:
    """0 where no drop-in is slower, 1 where one is, 130 when interrupted."""
    parser = argparse.ArgumentParser(description="Sets drop-ins beside the best compiler's own code.")
    parser.add_argument("files", nargs="*", type=Path, help="C files (default: all examples and cases)")
    parser.add_argument("--clock", default=",".join(CLOCKS), metavar="A,B", help="timed,untimed")
    parser.add_argument("--fp", default="reassociate,strict", metavar="A,B")
    asked = parser.parse_args(arguments)
    paths, clocks, modes = [x.resolve() for x in asked.files] or files(), asked.clock.split(","), asked.fp.split(",")
    ratios: list[float] = []
    slower = 0
    try:
        for row in judge_all(paths, clocks, modes):
            print(row, flush=True)
            if isinstance(row, Row):
                ratios.append(row.ratio)
                slower += row.is_slower
    except KeyboardInterrupt:
        print("interrupted: what was judged is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} races: geometric mean {mean:.2f}x, least {min(ratios):.2f}x, {slower} slower")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
