"""How long `planish build --no-measure` takes for each example, with a cold cache, and how much memory it needs.

    python bench/build_time.py                               # all examples, all cases, a large stencil, 300 nests
    python bench/build_time.py --suite dsp --kernels fir,sobel
    python bench/build_time.py --suite cases --measured

What is held against the budgets is the processor's time of a build and all its children, which other work on the
machine changes little.

>>> builds = [Build("a", 1.0, 200 << 20, 0, "", 0.9), Build("b", 3.0, 100 << 20, 0, "", 2.5)]
>>> median_seconds(builds), worst(builds).file, peak_bytes(builds) >> 20
(2.0, 'b', 200)
>>> judge(builds, Budget(1.0, 2.0))
'median 1.70 s (at most 1 s: over), worst 2.50 s, b (at most 2 s: over)'
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dsp import DSP
from polybench import POLYBENCH
from progress import Progress
from record import RESULTS, write_atomically

from planish.run.process import Finished, Limits, run_process

SUITES = (POLYBENCH, DSP)
ROOT = Path(__file__).parent.parent
FOLDERS = {
    "programs": sorted((ROOT / "examples/programs").glob("*/*.c")),
    "chains": sorted((ROOT / "examples/chains").glob("*.c")),
    "cases": sorted((ROOT / "tests/differential/cases").glob("*.c")),
}
"""Files besides those of the suites."""

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
    """The most seconds of the processor's time of the median and of the slowest build."""

    median: float
    worst: float


UNMEASURED, MEASURED = Budget(2, 10), Budget(20, 20)
"""Without the clock, and with it (for a file of one function)."""
MANY = 300, 60.0
"""So many small nests in a file are built within so many seconds."""


def many_nests(count: int) -> str:
    """A file of small functions, of five kinds."""
    bodies = ("y[i] += {k} * x[i]", "y[i] = x[i] * x[i] + {k}", "y[i] = x[i] > {k} ? x[i] : y[i]",
              "y[i] = x[i] - y[i] / {k}", "y[0] += x[i] * {k}")  # fmt: skip
    return "\n".join(
        f"void f{k}(int n, const float *x, float *y)\n{{\n    for (int i = 0; i < n; i++)\n        "
        f"{bodies[k % len(bodies)].format(k=k + 1)};\n}}"
        for k in range(count)
    )


def judge(builds: Sequence[Build], budget: Budget) -> str:
    """The median and the worst of the processor's time beside what they may be."""
    median, slowest = statistics.median(x.cpu_seconds for x in builds), max(builds, key=lambda x: x.cpu_seconds)

    def beside(value: float, most: float) -> str:
        return f"(at most {most:g} s{': over' if value > most else ''})"

    return (
        f"median {median:.2f} s {beside(median, budget.median)}, "
        f"worst {slowest.cpu_seconds:.2f} s, {slowest.file} {beside(slowest.cpu_seconds, budget.worst)}"
    )


@dataclass(frozen=True, slots=True)
class Build:
    """One build as the user sees it: wall-clock seconds, the largest process in bytes, the exit code, what it said; and
    the processor's time of it and its children."""

    file: str
    seconds: float
    peak_bytes: int
    code: int
    said: str
    cpu_seconds: float


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
    return Build(file.stem, finished.seconds, finished.peak_bytes, code, said[-400:], finished.cpu_seconds)


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
    return run_process(command, Limits(seconds=limit), environment={**os.environ, "XDG_CACHE_HOME": str(cache)})


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
    """The command line; 0 where every build succeeded, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Times `planish build` with a cold cache.")
    names = [suite.name for suite in SUITES]
    parser.add_argument("--suite", choices=[*names, *FOLDERS, "large"], help="only these files")
    parser.add_argument("--kernels", default="", metavar="A,B", help="only these files (needs --suite)")
    parser.add_argument("--limit", type=float, default=120.0, metavar="S", help="seconds a build may take (120)")
    parser.add_argument("--measured", action="store_true", help="with the clock")
    asked = parser.parse_args(arguments)
    if asked.kernels and not asked.suite:
        parser.error("--kernels needs --suite")
    wanted = [n for n in asked.kernels.split(",") if n]
    try:
        files = [file for x in SUITES if asked.suite in (None, x.name) for file in x.files(wanted)]
        for name, known in FOLDERS.items():
            if asked.suite in (None, name):
                files += [x for x in known if not wanted or x.stem in wanted]
        seconds = time_help()
        builds = time_builds(files, limit=asked.limit, measured=asked.measured)
        large = _time_large(asked.limit, asked.measured) if asked.suite in (None, "large") else []
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(format_builds([*builds, *large]))
    failed = sum(build.code != 0 for build in [*builds, *large])
    if builds:
        print(f"\n{len(builds)} builds: {judge(builds, MEASURED if asked.measured else UNMEASURED)}")
    for build in large:
        print(f"{build.file}: {build.cpu_seconds:.2f} s (at most {MANY[1] if 'nests' in build.file else 10:g} s)")
    peak = peak_bytes([*builds, *large]) / 2**20
    print(f"{failed} failed, peak memory {peak:.0f} MB; planish --help {seconds:.3f} s")
    data = {"help_seconds": seconds, "builds": [asdict(build) for build in [*builds, *large]]}
    write_atomically(RESULTS / "build_time.json", json.dumps(data, indent=1) + "\n")
    return 1 if failed else 0


def _time_large(limit: float, measured: bool) -> list[Build]:
    """The builds of the large stencil and of the file of many nests."""
    with tempfile.TemporaryDirectory(prefix="planish-large-") as name:
        stencil, many = Path(name) / "stencil.c", Path(name) / "nests.c"
        stencil.write_text(STENCIL)
        many.write_text(many_nests(MANY[0]))
        return time_builds((stencil, many), limit=10 * limit, measured=measured)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
