"""How long `planish build --no-measure` takes for each example, with a cold cache, and how much memory it needs.

    python bench/build_time.py                               # all files of both folders
    python bench/build_time.py --suite dsp --kernels fir,sobel

>>> builds = [Build("a", 1.0, 200 << 20, 0, ""), Build("b", 3.0, 100 << 20, 0, "")]
>>> median_seconds(builds), worst(builds).file, peak_bytes(builds) >> 20
(2.0, 'b', 200)
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
from suite import Suite

from planish.run.process import Finished, Limits, run_process

SUITES = (POLYBENCH, DSP)


@dataclass(frozen=True, slots=True)
class Build:
    """One build as the user sees it: wall-clock seconds, the largest process in bytes, the exit code, what it said."""

    file: str
    seconds: float
    peak_bytes: int
    code: int
    said: str


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
    return Build(file.stem, finished.seconds, finished.peak_bytes, code, said[-400:])


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


def time_builds(files: Sequence[Path], show: bool = True, limit: float = 60.0) -> list[Build]:
    """Builds the files one after the other."""
    progress = Progress(len(files), show=show)
    builds: list[Build] = []
    try:
        for file in files:
            progress.begin(file.stem)
            build = time_build(file, limit)
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
        f"{build.file:{width}}  {build.seconds:7.2f} s  {build.peak_bytes / 2**20:6.0f} MB"
        + (f"  FAILED ({build.code}): {build.said.splitlines()[-1] if build.said else ''}" if build.code else "")
        for build in ordered
    )


def main(arguments: Sequence[str]) -> int:
    """The command line; 0 where every build succeeded, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Times `planish build --no-measure` with a cold cache.")
    names = [suite.name for suite in SUITES]
    parser.add_argument("--suite", choices=names, help="only this folder")
    parser.add_argument("--kernels", default="", metavar="A,B", help="only these files (needs --suite)")
    parser.add_argument("--limit", type=float, default=60.0, metavar="S", help="seconds a build may take (60)")
    asked = parser.parse_args(arguments)
    if asked.kernels and not asked.suite:
        parser.error("--kernels needs --suite")
    suites: list[Suite] = [suite for suite in SUITES if asked.suite in (None, suite.name)]
    try:
        files = [file for suite in suites for file in suite.files([n for n in asked.kernels.split(",") if n])]
        seconds = time_help()
        builds = time_builds(files, limit=asked.limit)
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(format_builds(builds))
    slowest, failed = worst(builds), sum(build.code != 0 for build in builds)
    print(
        f"\n{len(builds)} builds, {failed} failed: median {median_seconds(builds):.2f} s, worst {slowest.seconds:.2f} s"
        f" ({slowest.file}), peak memory {peak_bytes(builds) / 2**20:.0f} MB; planish --help {seconds:.3f} s"
    )
    data = {"help_seconds": seconds, "builds": [asdict(build) for build in builds]}
    write_atomically(RESULTS / "build_time.json", json.dumps(data, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
