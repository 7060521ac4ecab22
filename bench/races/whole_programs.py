"""Whole programs through `planish cc`: their own tests, what it costs to build them, and how fast they are.

    python -m bench.races.whole_programs SOURCES                      # a folder with the unpacked sources
    python -m bench.races.whole_programs SOURCES --only bzip2,lz4 --budget 0 --pairs 9

Each program of whole_programs.toml is built by gcc -O3 -march=native, then through `planish cc` with the same flags,
and again, which shows what the cache brings. Its tests run with both builds. The timed command runs in turns; the
processor's time counts, and a ratio is the median of those of the pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

from planish.wrapper.record import read_records

LIST = Path(__file__).with_suffix(".toml")
FLAGS = "-O3 -march=native"
_DATA = 6 << 20


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """A program: C files, functions that were replaced, seconds that a file waited (median, most) in the first and the
    second build, whether its tests passed by both builds and both printed the same, and how many times faster it is."""

    name: str
    files: int
    taken: int
    first: tuple[float, float]
    second: tuple[float, float]
    tests: tuple[bool, bool]
    alike: bool
    ratio: float
    spread: tuple[float, float]


def main(arguments: list[str]) -> int:
    """Prints a row for each program; 1 where tests fail that pass without us."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--budget", default="5", help="seconds for a file; 0: any")
    parser.add_argument("--flags", default=FLAGS)
    parser.add_argument("--fp", default="", help="floating-point mode, where not what the flags permit")
    parser.add_argument("--warm", action="store_true", help="keep the compiler loaded from file to file")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    programs = tomllib.loads(LIST.read_text())
    names = [x for x in programs if (not given.only or x in given.only.split(",")) and _is_there(given, programs[x])]
    results = []
    print(f"{'program':14} files taken  first build     second build    tests  alike  ratio")
    for name in names:
        results.append(run_program(name, programs[name], given))
        print(_row(results[-1]), flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps([asdict(x) for x in results], indent=1))
    if results:
        print(f"geometric mean of ratios: {statistics.geometric_mean(x.ratio for x in results):.3f}x")
    return int(any(x.tests[0] and not (x.tests[1] and x.alike) for x in results))


def _is_there(given: argparse.Namespace, program: dict[str, str]) -> bool:
    return (given.sources / program["folder"]).is_dir()


def run_program(name: str, program: dict[str, str], given: argparse.Namespace) -> ProgramResult:
    """Builds, checks and times one program."""
    with tempfile.TemporaryDirectory(prefix="whole-") as work:
        folder = Path(work)
        data = _data(given.sources / program["folder"], folder / "data")
        fp = ["--fp", given.fp] if given.fp else []
        records = []
        for build in ("first", "second"):
            words = [sys.executable, "-m", "planish", "cc", "--budget", given.budget, *fp]
            words += ["--warm"] if given.warm else []
            words += ["--report", str(folder / f"{build}.jsonl")]
            _build(
                program, given, folder / "ours", " ".join((*words, "--using", "gcc", "--")), ";".join((*words, "--"))
            )
            records.append(read_records(str(folder / f"{build}.jsonl")))
        _build(program, given, folder / "theirs", "gcc", "")
        places = (folder / "theirs", folder / "ours")
        tests = [_shell(program["check"], place, data).returncode == 0 for place in places]
        said = [_shell(program["same"], place, data).stdout for place in places]
        pairs = [tuple(_seconds(program["time"], place, data) for place in places) for _ in range(given.pairs)]
        ratios = sorted(a / b for a, b in pairs)
        costs = [(statistics.median(x.seconds for x in r), max(x.seconds for x in r)) for r in records]
        taken = sum(f.taken for x in records[1] for f in x.functions)
        return ProgramResult(
            name, len(records[0]), taken, costs[0], costs[1], (tests[0], tests[1]), said[0] == said[1],
            statistics.median(ratios), (ratios[0], ratios[-1]),
        )  # fmt: skip


def _build(program: dict[str, str], given: argparse.Namespace, place: Path, cc: str, launcher: str) -> None:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(given.sources / program["folder"], place, symlinks=True)
    text = program["build"].replace("{cc}", cc).replace("{flags}", given.flags).replace("{launcher}", launcher)
    done = subprocess.run(["sh", "-ec", text], cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{place}: the build fails: {done.stderr[-2000:]}")


def _data(source: Path, path: Path) -> Path:
    """Some megabytes of the program's own text."""
    text = b"".join(
        x.read_bytes() for x in sorted(source.rglob("*")) if x.is_file() and x.suffix in (".c", ".h", ".txt")
    )
    path.write_bytes((text * (1 + _DATA // max(1, len(text))))[:_DATA])
    return path


def _shell(text: str, place: Path, data: Path) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-ec", text.replace("{data}", str(data))]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, errors="replace", check=False)


def _seconds(text: str, place: Path, data: Path) -> float:
    """The processor's time that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _shell(text, place, data)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _row(x: ProgramResult) -> str:
    first, second = (f"{a:5.2f} s, {b:5.1f} s" for a, b in (x.first, x.second))
    tests = "/".join("ok" if t else "FAIL" for t in x.tests)
    alike = "yes" if x.alike else "NO"
    return (
        f"{x.name:14} {x.files:5} {x.taken:5}  {first:14}  {second:14}  {tests:6} {alike:6} "
        f"{x.ratio:.2f}x ({x.spread[0]:.2f} to {x.spread[1]:.2f})"
    )


if __name__ == "__main__":
    started = time.monotonic()
    code = main(sys.argv[1:])
    print(f"{time.monotonic() - started:.0f} s, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    sys.exit(code)
