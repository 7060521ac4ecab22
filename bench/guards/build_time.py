"""How long `planish build --no-measure` takes for each example, with a cold cache, and how much memory it needs.

    python -m bench.guards.build_time                         # all examples, all cases, a large stencil, 300 nests
    python -m bench.guards.build_time --suite dsp --kernels fir,sobel
    python -m bench.guards.build_time --suite cases --measured

What is held against the budgets is the processor's time of a build and all its children, which other work on the
machine changes little. Each build is stored with the state of planish, so that a run can be interrupted and goes on
(`--fresh`: begins again). The exit code is 1 where a build fails or is over its budget.

>>> builds = [Build("a", 1.0, 200 << 20, 0, "", 0.9), Build("b", 3.0, 100 << 20, 0, "", 2.5)]
>>> median_seconds(builds), worst(builds).file, peak_bytes(builds) >> 20
(2.0, 'b', 200)
>>> costs = weigh(builds, Budget(1.0, 2.0))
>>> str(costs), costs.is_over
('median 1.70 s (at most 1 s: over), worst 2.50 s, b (at most 2 s: over)', True)
>>> str(weigh([Build("a", 61.0, 0, 0, "", 60.0, functions=4)], MEASURED))
'median 15.00 s a function (at most 20 s), worst 15.00 s a function, a (at most 20 s)'
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.harness.contest import compiler_state
from bench.harness.places import RESULTS, ROOT
from bench.harness.progress import Progress
from bench.harness.record import write_atomically
from bench.harness.suite import read_source
from bench.races.dsp import DSP
from bench.races.polybench import POLYBENCH
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.isa.shipped import prepare_texts
from planish.library.kernels.gemm.preparation import prepare_machine
from planish.options import Options
from planish.raising.match.operation_index import prepare_all
from planish.run.processes.process import Finished, Limits, run_process

SUITES = (POLYBENCH, DSP)
FOLDERS = {
    "programs": sorted((ROOT / "examples/programs").glob("*/*.c")),
    "chains": sorted((ROOT / "examples/chains").glob("*.c")),
    "cases": sorted((ROOT / "tests/differential/cases").glob("*.c")),
}
"""Files besides those of the suites."""
STORE = RESULTS / "builds.jsonl"
BYTECODE = RESULTS / "bytecode"
"""The compiled modules of what is timed."""

STENCIL = """void relax(int nx, int ny, int nz, int steps, float *a, float *b, const float *p,
           float cc, float cn, float cs, float ce, float cw, float ct, float cb, float heat)
{
    for (int t = 0; t < steps; t++) {
        for (int z = 1; z < nz - 1; z++)
            for (int y = 1; y < ny - 1; y++)
                for (int x = 1; x < nx - 1; x++)
                    b[x + nx * (y + ny * z)] =
                        cc * a[x + nx * (y + ny * z)] + cn * a[x + nx * (y - 1 + ny * z)]
                        + cs * a[x + nx * (y + 1 + ny * z)] + ce * a[x + 1 + nx * (y + ny * z)]
                        + cw * a[x - 1 + nx * (y + ny * z)] + ct * a[x + nx * (y + ny * (z + 1))]
                        + cb * a[x + nx * (y + ny * (z - 1))] + heat * p[x + nx * (y + ny * z)];
        float *swap = a; a = b; b = swap;
    }
}
"""
"""Seven points in three dimensions with eight coefficients, and two arrays that change places."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most seconds of the processor's time of the median and of the slowest build; `each`: for each function."""

    median: float
    worst: float
    each: bool = False

    def cost(self, build: Build) -> float:
        """What is held against it."""
        return build.cpu_seconds / build.functions if self.each else build.cpu_seconds


UNMEASURED, MEASURED = Budget(2, 10), Budget(20, 20, each=True)
"""Without the clock, and with it."""
MANY = 300
MANY_NESTS = Budget(60, 60)
"""For a file of so many small nests, without the clock."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The median and the worst of some builds, in seconds of the processor's time, and what they may be."""

    median: float
    worst: float
    slowest: str
    budget: Budget

    @property
    def is_over(self) -> bool:
        """Whether either is more than it may be."""
        return self.median > self.budget.median or self.worst > self.budget.worst

    def __str__(self) -> str:
        each = " a function" if self.budget.each else ""
        median, worst = (
            f"(at most {most:g} s{': over' if value > most else ''})"
            for value, most in ((self.median, self.budget.median), (self.worst, self.budget.worst))
        )
        return f"median {self.median:.2f} s{each} {median}, worst {self.worst:.2f} s{each}, {self.slowest} {worst}"


def many_nests(count: int) -> str:
    """A file of small functions, of five kinds."""
    bodies = ("y[i] += {k} * x[i]", "y[i] = x[i] * x[i] + {k}", "y[i] = x[i] > {k} ? x[i] : y[i]",
              "y[i] = x[i] - y[i] / {k}", "y[0] += x[i] * {k}")  # fmt: skip
    return "\n".join(
        f"void f{k}(int n, const float *x, float *y)\n{{\n    for (int i = 0; i < n; i++)\n        "
        f"{bodies[k % len(bodies)].format(k=k + 1)};\n}}"
        for k in range(count)
    )


def weigh(builds: Sequence[Build], budget: Budget) -> Costs:
    """What builds cost beside what they may; there is at least one."""
    slowest = max(builds, key=budget.cost)
    return Costs(statistics.median(map(budget.cost, builds)), budget.cost(slowest), slowest.file, budget)


@dataclass(frozen=True, slots=True)
class Build:
    """One build as the user sees it: wall-clock seconds, the largest process in bytes, the exit code, what it said; the
    processor's time of it and its children; and in how many functions it has anything to do (1 where in none)."""

    file: str
    seconds: float
    peak_bytes: int
    code: int
    said: str
    cpu_seconds: float
    functions: int = 1


def find_files(suite: str | None = None, wanted: Sequence[str] = ()) -> list[Path]:
    """The files of a suite or folder (None: of all of them), or those of them with the names; ValueError where a suite
    has no such file."""
    files = [file for x in SUITES if suite in (None, x.name) for file in x.files(wanted)]
    for name, known in FOLDERS.items():
        if suite in (None, name):
            files += [x for x in known if not wanted or x.stem in wanted]
    return files


def count_functions(file: Path) -> int:
    """The functions of a file with nests in them; at least 1."""
    try:
        functions = read_file(read_source(file), Options(include_dirs=(file.parent,))).functions
    except PlanishError:
        return 1
    return max(1, sum(bool(x.regions) for x in functions))


def find_command() -> tuple[str, ...]:
    """The installed `planish` beside this interpreter, or the same entry point where only the sources are there."""
    script = Path(sys.executable).with_name("planish")
    return (str(script),) if script.exists() else (sys.executable, "-m", "planish")


def time_build(file: Path, limit: float = 60.0, options: Sequence[str] = (), measured: bool = False) -> Build:
    """Builds one file in a process of its own with an empty cache; what runs longer than `limit` seconds is ended.
    `measured`: with the clock's time, as the default is."""
    with tempfile.TemporaryDirectory(prefix="planish-build-") as name:
        flags = (*([] if measured else ["--no-measure"]), *options)
        command = (*find_command(), "build", str(file), *flags, "-o", str(Path(name) / "out"))
        finished = _run(command, Path(name) / "cache", limit)
    code = finished.code if finished.status == "ended" else 124
    said = (finished.stderr.strip() or finished.stdout.strip()) if code else ""
    functions = count_functions(file) if measured else 1
    return Build(file.stem, finished.seconds, finished.peak_bytes, code, said[-400:], finished.cpu_seconds, functions)


def time_help(rounds: int = 5) -> float:
    """Seconds of `planish --help`: the median after one run that may write compiled modules.

    Raises RuntimeError where the command fails.
    """
    with tempfile.TemporaryDirectory(prefix="planish-help-") as name:
        runs = [_run((*find_command(), "--help"), Path(name), 30.0) for _ in range(rounds + 1)]
    if any(run.code != 0 for run in runs):
        raise RuntimeError(f"planish --help failed: {runs[0].stderr.strip()[-400:]}")
    return statistics.median(run.seconds for run in runs[1:])


def _run(command: Sequence[str], cache: Path, limit: float) -> Finished:
    """A command with an empty cache, and with compiled modules, as an installation has them: whether this process may
    write them says nothing of that."""
    own = {"XDG_CACHE_HOME": str(cache), "PYTHONPYCACHEPREFIX": str(BYTECODE)}
    environment = {x: y for x, y in os.environ.items() if x != "PYTHONDONTWRITEBYTECODE"}
    return run_process(command, Limits(seconds=limit), environment={**environment, **own})


def median_seconds(builds: Sequence[Build]) -> float:
    """The median over all builds, failed ones included: they took that long too."""
    return statistics.median(build.seconds for build in builds)


def worst(builds: Sequence[Build]) -> Build:
    """The build that took longest."""
    return max(builds, key=lambda build: build.seconds)


def peak_bytes(builds: Sequence[Build]) -> int:
    """The largest resident size over all builds."""
    return max(build.peak_bytes for build in builds)


def time_builds(files: Sequence[Path], show: bool = True, limit: float = 60.0, measured: bool = False) -> list[Build]:
    """Builds the files one after the other."""
    progress = Progress(len(files), show=show)
    builds: list[Build] = []
    try:
        for file in files:
            progress.begin(file.stem)
            build = time_build(file, limit, measured=measured)
            builds.append(build)
            progress.finish(f"{build.seconds:.2f} s{f', exit code {build.code}' if build.code else ''}")
    finally:
        progress.close()
    return builds


def recall(measured: bool) -> dict[str, Build]:
    """What is stored of this very planish, by the path."""
    known = [json.loads(x) for x in STORE.read_text().splitlines()] if STORE.exists() else []
    mine = [x for x in known if (x["state"], x["measured"]) == (compiler_state(), measured)]
    return {x["path"]: Build(**x["build"]) for x in mine}


def builds_of(
    files: Sequence[Path], measured: bool = False, limit: float = 120.0, fresh: bool = False, stored: bool = False
) -> Iterator[Build]:
    """Builds as they are done, one after the other; what is stored is taken (`fresh`: is not; `stored`: alone)."""
    known = {} if fresh else recall(measured)
    left = [x for x in files if _place(x) not in known]
    yield from (known[_place(x)] for x in files if _place(x) in known)
    progress = Progress(len(files), len(files) - len(left))
    try:
        if left and not stored:
            prepare()
            # The first one compiles the modules.
            time_build(left[0], limit)
        for file in [] if stored else left:
            progress.begin(file.stem)
            build = time_build(file, limit, measured=measured)
            STORE.parent.mkdir(parents=True, exist_ok=True)
            record = {"path": _place(file), "measured": measured, "state": compiler_state(), "build": asdict(build)}
            with STORE.open("a") as journal:
                journal.write(json.dumps(record) + "\n")
            progress.finish(f"{build.cpu_seconds:.2f} s{f', exit code {build.code}' if build.code else ''}")
            yield build
    finally:
        progress.close()


def prepare() -> None:
    """Makes what an installation has before its first build, as `make setup` does."""
    prepare_all()
    prepare_texts()
    prepare_machine()


def _place(file: Path) -> str:
    """What names a file in the store: those that are made up have their names alone."""
    return str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else file.name


def format_builds(builds: Sequence[Build]) -> str:
    """A row for each file, the slowest first."""
    ordered = sorted(builds, key=lambda build: -build.seconds)
    width = max(len(build.file) for build in builds)
    return "\n".join(
        f"{build.file:{width}}  {build.cpu_seconds:7.2f} s, {build.seconds:7.2f} s on the wall  "
        f"{build.peak_bytes / 2**20:6.0f} MB"
        + (f"  FAILED ({build.code}): {build.said.splitlines()[-1] if build.said else ''}" if build.code else "")
        for build in ordered
    )


def main(arguments: Sequence[str]) -> int:
    """The command line; 0 where every build succeeded within its budget, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Times `planish build` with a cold cache.")
    names = [suite.name for suite in SUITES]
    parser.add_argument("--suite", choices=[*names, *FOLDERS, "large"], help="only these files")
    parser.add_argument("--kernels", default="", metavar="A,B", help="only these files (needs --suite)")
    parser.add_argument("--limit", type=float, default=120.0, metavar="S", help="seconds a build may take (120)")
    parser.add_argument("--measured", action="store_true", help="with the clock")
    parser.add_argument("--fresh", action="store_true", help="build all again, also what is stored")
    asked = parser.parse_args(arguments)
    if asked.kernels and not asked.suite:
        parser.error("--kernels needs --suite")
    try:
        files = find_files(asked.suite, [n for n in asked.kernels.split(",") if n])
        seconds = time_help()
        builds = list(builds_of(files, asked.measured, asked.limit, asked.fresh))
        large = list(build_large(asked.measured, asked.fresh)) if asked.suite in (None, "large") else []
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: what was built is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    every = [*builds, *(x for x, _ in large)]
    print(format_builds(every))
    failed = sum(build.code != 0 for build in every)
    costs = [weigh([build], budget) for build, budget in large]
    if builds:
        costs.insert(0, weigh(builds, MEASURED if asked.measured else UNMEASURED))
        print(f"\n{len(builds)} builds: {costs[0]}")
    for cost in costs[bool(builds) :]:
        print(f"{cost.slowest}: {cost}")
    print(f"{failed} failed, peak memory {peak_bytes(every) / 2**20:.0f} MB; planish --help {seconds:.3f} s")
    data = {"help_seconds": seconds, "builds": [asdict(build) for build in every]}
    write_atomically(RESULTS / "build_time.json", json.dumps(data, indent=1) + "\n")
    return 1 if failed or any(x.is_over for x in costs) else 0


def build_large(measured: bool, fresh: bool = False, stored: bool = False) -> Iterator[tuple[Build, Budget]]:
    """The builds of the large stencil and, without the clock, of the file of many nests; with what they may take."""
    with tempfile.TemporaryDirectory(prefix="planish-large-") as name:
        stencil, many = Path(name) / "stencil.c", Path(name) / f"nests-{MANY}.c"
        stencil.write_text(STENCIL)
        many.write_text(many_nests(MANY))
        budgets = {stencil: MEASURED if measured else UNMEASURED} | ({} if measured else {many: MANY_NESTS})
        for file, budget in budgets.items():
            for build in builds_of((file,), measured, 1200.0, fresh, stored):
                yield build, Budget(budget.worst, budget.worst, budget.each)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
