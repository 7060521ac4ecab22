"""How good the choice without the clock is: all versions of each function, timed in turns, beside their order.

    taskset -c 1 python -m bench.guards.ranking                     # MEDIUM; goes on where it was stopped
    taskset -c 1 python -m bench.guards.ranking --dataset LARGE --kernels gemver,atax
    python -m bench.guards.ranking --report                         # what is stored
    python -m bench.guards.ranking --report --reorder               # the order of today, by the times that are stored
    python -m bench.guards.ranking --folder mine --minutes 5        # C files of one's own beside their sizes.toml

The versions are those that a build with the clock would race. Each one is compared with the original first, in a
child; what is wrong or does not compile is left out. Those come first whose first version was farthest behind when they
were measured before. The winner is the fastest of the others and of the original, which
a build with the clock keeps where nothing beats it. Regret: the time of what is taken without the clock over that of
the winner.

>>> row = Row("f", "MEDIUM", "", 4.0, (("a", 2.0), ("b", 1.0), ("c", 3.0)))
>>> row.regret(1), row.regret(3), round(row.tau, 2), row.winner
(2.0, 1.0, 0.33, 'b')
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import inf
from pathlib import Path

from bench.harness.contest import Contestant, Course, Rules, compiler_state, machine_name, qualify
from bench.harness.places import RESULTS
from bench.harness.progress import Progress
from bench.harness.record import geometric_mean, write_atomically
from bench.harness.suite import DATASETS, Suite, read_source, smaller_dataset
from bench.races.dsp import DSP
from bench.races.polybench import POLYBENCH
from planish.build.emit import labels_of, make_drop_ins
from planish.build.job import make_workbench
from planish.build.lower import lower_region
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.core.former_names import current_version
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.options import Options
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.processes.process import Limits
from planish.run.timing.clock import ClockError, measure
from planish.run.toolchains.toolchain import choose_compiler, compile_library
from planish.run.workbench import DropIn, Workbench
from planish.target.load import load_target

SUITES = (POLYBENCH, DSP)
STORE = RESULTS / "ranking"
NOISE = 1.05
"""Times so near to each other are not told apart: their order counts neither way."""
ORIGINAL = "unchanged"
"""The function as it is written; the source's order of loops is a version, `original`."""
SAMPLE = ("gemver", "atax", "jacobi-2d", "matvec", "prefix_sum", "fir")


@dataclass(frozen=True, slots=True)
class Row:
    """A function: seconds of the original and of each good version, in the order that is taken without the clock."""

    function: str
    dataset: str
    state: str
    original: float
    versions: tuple[tuple[str, float], ...]

    @property
    def best(self) -> float:
        """Seconds of the winner, which may be the original."""
        return min(self.original, *(x for _, x in self.versions))

    @property
    def winner(self) -> str:
        """What is fastest."""
        return min((*self.versions, (ORIGINAL, self.original)), key=lambda x: x[1])[0]

    def regret(self, most: int) -> float:
        """How many times as long as the winner the fastest of the first versions takes."""
        return min(x for _, x in self.versions[:most]) / self.best

    @property
    def tau(self) -> float | None:
        """Kendall's tau over the pairs that the clock tells apart; None where there are none."""
        pairs = [(x, y) for (_, x), (_, y) in combinations(self.versions, 2) if max(x, y) > NOISE * min(x, y)]
        return sum(1 if x < y else -1 for x, y in pairs) / len(pairs) if pairs else None

    def __str__(self) -> str:
        first, seconds = self.versions[0]
        won = f"{self.winner} ({self.best:.3g} s)"
        return f"{self.function:24} {self.regret(1):6.2f}x  {first} ({seconds:.3g} s), won by {won}"


def options_for(suite: Suite, path: Path, dataset: str) -> Options:
    """What a build of a file without the clock is asked for."""
    return Options(
        sizes=suite.sizes(path, dataset), defines=suite.defines(dataset), include_dirs=(suite.folder,), measure=False,
        target="native",
    )  # fmt: skip


def name_of(path: Path, function: CFunction) -> str:
    """What a row is called."""
    return f"{path.stem}/{function.name.removeprefix('kernel_')}"


def measure_file(suite: Suite, path: Path, dataset: str, rules: Rules, tell: Progress) -> Iterator[Row]:
    """A row for each function that has versions and can be called."""
    source, target = read_source(path), load_target("native")
    options = options_for(suite, path, dataset)
    file = read_file(source, options)
    with tempfile.TemporaryDirectory(prefix="planish-ranking-") as folder:
        bench = make_workbench(options, target, Path(folder), source)
        for function in file.functions:
            if function.static or signature_of(function) is None or not function.regions:
                continue
            tell.tell(f"{function.name}: planning")
            plans = tuple(lower_region(x, options, target) for x in function.regions)
            versions, _ = make_drop_ins(plans, file, options)
            if versions:
                row = _race(suite, path, dataset, function, file, versions, bench, rules, tell)
                if row is not None:
                    yield row


def _race(
    suite: Suite, path: Path, dataset: str, function: CFunction, file: CFile, versions: Sequence[DropIn],
    bench: Workbench, rules: Rules, tell: Progress,
) -> Row | None:  # fmt: skip
    """The times of the original and of all versions that compute the same; None where there are none."""
    signature = signature_of(function)
    assert signature is not None
    macros = tuple(f"-D{x}" for x in bench.defines)
    full = suite.case(function, suite.sizes(path, dataset))
    small = suite.case(function, suite.sizes(path, smaller_dataset(dataset)))
    text, limits = file.source.text + entry_text(signature), Limits(seconds=rules.time_limit)
    strict = ("-w", "-O2", "-ffp-contract=off", *macros)
    reference = compile_library(bench.compiler, text, strict, bench.folder, limits, (suite.folder,))
    course = Course(reference, signature, small, full, bench.folder, suite.folder, rules)
    plain = Contestant(ORIGINAL, "compiler", bench.compiler, file.source.text, bench.command_flags)
    entered: dict[str, Path] = {}
    for one in (plain, *(
        Contestant(x.label, "ours", bench.compiler, x.text, (*bench.command_flags, *x.link)) for x in versions
    )):  # fmt: skip
        tell.tell(f"{function.name}: checking {one.label}")
        found = qualify(one, course)
        if isinstance(found, Path):
            entered[one.label] = found
    while len(entered) > 1:
        tell.tell(f"{function.name}: timing {len(entered)}")
        try:
            times = {x.label: x.median for x in measure(tuple(entered.items()), signature, full, rules.budget, 5)}
        except ClockError as error:
            if error.label not in entered:
                return None
            del entered[error.label]
            continue
        if ORIGINAL not in times:
            return None
        good = tuple((x.label, times[x.label]) for x in versions if x.label in times)
        return Row(name_of(path, function), dataset, compiler_state(), times[ORIGINAL], good)
    return None


def files_of(suites: Sequence[Suite], only: Sequence[str] = ()) -> list[tuple[Suite, Path]]:
    """The C files, or those of the given names."""
    return [(x, y) for x in suites for y in x.files() if not only or y.stem in only]


def place_of(suite: Suite, path: Path, dataset: str) -> Path:
    """Where it is kept what was measured of a file."""
    return STORE / ("" if suite in SUITES else suite.name) / f"{path.stem}.{dataset}.json"


def store_file(place: Path, rows: Sequence[Row]) -> None:
    """Keeps what was measured of a file; the whole order of versions, so that any other order can be judged by it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    data = {"machine": machine_name(), "state": compiler_state(), "rows": [asdict(x) for x in rows]}
    write_atomically(place, json.dumps(data, indent=1))


def read_rows(place: Path) -> list[Row]:
    """What is kept of a file; nothing where it was not measured."""
    found = json.loads(place.read_text())["rows"] if place.exists() else ()
    return [Row(**{**x, "versions": tuple((name, seconds) for name, seconds in x["versions"])}) for x in found]


def stored_rows(dataset: str, only: Sequence[str] = (), suites: Sequence[Suite] = SUITES) -> list[Row]:
    """What is stored, file by file."""
    return [row for x, y in files_of(suites, only) for row in read_rows(place_of(x, y, dataset))]


def measure_all(
    dataset: str, only: Sequence[str], rules: Rules, fresh: bool = False, suites: Sequence[Suite] = SUITES,
    seconds: float = inf,
) -> list[Row]:  # fmt: skip
    """Measures what is missing, or was measured for another state of planish where `fresh`, the worst of before first;
    no file is begun when so many seconds are over. The rows of all."""
    files = files_of(suites, only)
    before = {y: read_rows(place_of(x, y, dataset)) for x, y in files}
    files.sort(key=lambda x: -max((row.regret(1) for row in before[x[1]]), default=inf))
    now, end = compiler_state(), time.monotonic() + seconds
    kept = [
        y for x, y in files
        if place_of(x, y, dataset).exists() and not (fresh and any(row.state != now for row in before[y]))
    ]  # fmt: skip
    progress = Progress(len(files), len(kept))
    try:
        for suite, path in files:
            if path in kept:
                continue
            if time.monotonic() > end:
                break
            progress.begin(path.stem)
            try:
                rows = list(measure_file(suite, path, dataset, rules, progress))
            except PlanishError as error:
                progress.finish(error.diagnostic.message)
                continue
            store_file(place_of(suite, path, dataset), rows)
            progress.finish(", ".join(f"{x.function} {x.regret(1):.2f}x" for x in rows) or "no versions")
    finally:
        progress.close()
    return stored_rows(dataset, only, suites)


def reordered_rows(dataset: str, only: Sequence[str] = (), suites: Sequence[Suite] = SUITES) -> Iterator[Row]:
    """The stored rows with their versions in the order of today. Versions of which no time is stored are left out, as
    are rows of whose versions none is."""
    stored = {x.function: x for x in stored_rows(dataset, only, suites)}
    target = load_target("native")
    for suite, path in files_of(suites, only):
        options = options_for(suite, path, dataset)
        for function in read_file(read_source(path), options).functions:
            row = stored.get(name_of(path, function))
            if row is None:
                continue
            times = {current_version(name): seconds for name, seconds in row.versions}
            plans = [lower_region(x, options, target) for x in function.regions]
            versions = tuple((x, times[x]) for x in labels_of(plans) if x in times)
            if versions:
                yield replace(row, versions=versions)


def format_report(rows: Sequence[Row]) -> Iterator[str]:
    """Kendall's tau, the regret of the first version and of the first three, and the worst ten rows."""
    if not rows:
        yield "nothing is stored"
        return
    states = {x.state for x in rows}
    now = compiler_state()
    yield f"{len(rows)} functions, {sum(len(x.versions) for x in rows)} versions; measured for " + (
        "this state" if states == {now} else f"{len(states - {now})} other state(s) of planish"
    )
    taus = [x.tau for x in rows if x.tau is not None]
    yield f"Kendall's tau: {sum(taus) / len(taus):.3f} (mean of {len(taus)} functions whose versions differ)"
    for most in (1, 3):
        found = [x.regret(most) for x in rows]
        yield f"top-{most} regret: {geometric_mean(found):.3f}x (geometric mean), {max(found):.2f}x (worst)"
    yield from (str(x) for x in sorted(rows, key=lambda x: -x.regret(1))[:10])


def main(arguments: Sequence[str]) -> int:
    """Measures and reports; 130 when interrupted."""
    parser = argparse.ArgumentParser(description="Times all versions beside the order that is taken without the clock.")
    parser.add_argument("--dataset", choices=DATASETS, default="MEDIUM")
    parser.add_argument("--kernels", default="", help="files, with commas between them; without: all")
    parser.add_argument("--budget", type=float, default=1.5, help="seconds for the race of one function")
    parser.add_argument("--report", action="store_true", help="only what is stored")
    parser.add_argument("--reorder", action="store_true", help="with --report: in the order of today")
    parser.add_argument("--fresh", action="store_true", help="measure again what another state of planish gave")
    parser.add_argument("--folder", type=Path, help="C files of one's own, with a sizes.toml")
    parser.add_argument("--minutes", type=float, default=inf, help="begin no file after that; the next run goes on")
    asked = parser.parse_args(arguments)
    only = tuple(x for x in asked.kernels.split(",") if x)
    compiler = choose_compiler(None)
    rules = Rules((compiler,), budget=asked.budget, time_limit=60.0, full_check=False)
    suites = SUITES if asked.folder is None else (Suite(asked.folder.resolve().name, asked.folder.resolve()),)
    try:
        if not asked.report:
            measure_all(asked.dataset, only, rules, asked.fresh, suites, 60 * asked.minutes)
    except KeyboardInterrupt:
        print("interrupted: what was measured is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    rows = reordered_rows if asked.reorder else stored_rows
    shown = list(rows(asked.dataset, only, suites))
    print("\n".join(format_report(shown)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
