"""Every version of everything that the library has, run beside the original on every target, in every mode.

    python -m bench.sweeps.version_sweep                       # all of it: hours; goes on where it stopped
    python -m bench.sweeps.version_sweep stages scans          # these programs only
    python -m bench.sweeps.version_sweep stages.halved --targets aarch64-neon --fp strict --threads 2
    python -m bench.sweeps.version_sweep --report              # what is stored
    python -m bench.sweeps.version_sweep --quick               # one function of each program, in one setting

>>> [str(x) for x in settings(("x86-avx2",), ("strict", "contract"), (1,))]
['x86-avx2      strict       1', 'x86-avx2      contract     1']
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json import dumps, loads
from pathlib import Path
from typing import Any

from bench.harness.contest import compiler_state, digest
from bench.harness.every_version import (
    Found,
    Program,
    Setting,
    functions_of,
    load_programs,
    missing_tools,
    pack,
    run_versions,
    unpack,
)
from bench.harness.places import EXAMPLES, PROGRAMS, RESULTS
from bench.harness.progress import Progress
from bench.harness.record import write_atomically
from planish.ir.types import Floats
from planish.run.processes.workers import CORES, leave_interrupts

PARTS = ("version_sweep", "streams", "stages", "dense")
FOLDERS = (*(PROGRAMS / x for x in PARTS), EXAMPLES / "dsp", EXAMPLES / "polybench")
TARGETS = ("x86-avx512", "aarch64-neon", "x86-avx2")
MODES: tuple[Floats, ...] = ("reassociate", "strict", "contract")
THREADS = (1, 2)
STORE = RESULTS / "everywhere"
QUICK = {
    "filters.causal": Setting("x86-avx512", "reassociate", 1),
    "scans.envelope": Setting("aarch64-neon", "strict", 1),
    "cascades.ladder": Setting("x86-avx2", "strict", 1),
    "stages.halved": Setting("aarch64-neon", "strict", 1),
    "mirrors.inside": Setting("x86-avx2", "contract", 1),
    "shares.both": Setting("x86-avx512", "reassociate", 2),
}
"""What `--quick` runs: a function, and where."""
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Job:
    """One function in one setting."""

    program: Program
    function: str
    setting: Setting

    @property
    def name(self) -> str:
        """The program and the function."""
        return f"{self.program.name}.{self.function}"

    @property
    def place(self) -> Path:
        """Where its verdicts are stored."""
        s = self.setting
        return STORE / f"{self.name}-{s.target}-{s.fp}-{s.threads}.json"

    @property
    def source(self) -> str:
        """What tells the program from an earlier one."""
        calls = (self.program.given.get(self.function), self.program.large.get(self.function))
        return digest(f"{self.program.path.read_text()}{calls}")


def settings(targets: Sequence[str], modes: Sequence[Floats], threads: Sequence[int]) -> list[Setting]:
    """All of them, in the order in which they are run."""
    return [Setting(t, m, n) for n in threads for m in modes for t in targets]


def all_programs() -> tuple[Program, ...]:
    """Those of the library's families, and examples."""
    return tuple(x for folder in FOLDERS for x in load_programs(folder))


def choose_jobs(names: Sequence[str], chosen: Sequence[Setting]) -> list[Job]:
    """The functions of some programs (all where there are no names), setting by setting; ValueError for a name that
    none has."""
    wanted: list[tuple[Program, str]] = []
    known: set[str] = set()
    for program in all_programs():
        known.add(program.name)
        if not names or program.name in names:
            wanted += [(program, x) for x in functions_of(program)]
            continue
        told = [x.rpartition(".") for x in names]
        asked = [x for of, _, x in told if of == program.name and f" {x}(" in program.path.read_text()]
        wanted += [(program, x) for x in asked]
    missing = [x for x in names if x not in known | {f"{p.name}.{f}" for p, f in wanted}]
    if missing:
        raise ValueError(f"there is no program {', '.join(missing)}")
    return [Job(p, f, s) for s in chosen for p, f in wanted]


def recall(job: Job) -> tuple[list[Found], bool] | None:
    """What is stored of a job for this very text, and whether it is of another state of planish."""
    try:
        data: dict[str, Any] = loads(job.place.read_text())
    except (OSError, ValueError):
        return None
    if data["source"] != job.source:
        return None
    return [unpack(x) for x in data["found"]], data["state"] != compiler_state()


@dataclass(frozen=True, slots=True)
class _Work:
    """A job that a process is given: which of all it is, where it may write, and whether it takes what was found of
    equal texts."""

    number: int
    job: Job
    folder: Path
    remember: bool


def run_jobs(jobs: Sequence[Job], stale: bool = False, fresh: bool = False, show: bool = True) -> list[Found]:
    """The verdicts of all jobs: those that are stored, and those that are missing, or were of another state where
    `stale`; each core runs one at a time. KeyboardInterrupt leaves what was stored."""
    known = [None if fresh else recall(job) for job in jobs]
    wanted = [number for number, found in enumerate(known) if found is None or (stale and found[1])]
    progress = Progress(len(jobs), len(jobs) - len(wanted), show)
    try:
        with tempfile.TemporaryDirectory(prefix="planish-sweep-") as folder:
            work = [_Work(x, jobs[x], Path(folder), not fresh) for x in wanted]
            for number, found in CORES.run(_run, sorted(work, key=_order), _start):
                known[number] = (found, False)
                bad = sum(x.failed for x in found)
                progress.begin(jobs[number].name)
                progress.finish(f"{jobs[number].setting}: {len(found)} versions{f', {bad} FAILED' if bad else ''}")
                for x in found:
                    if x.failed and show:
                        print(f"  {x}", file=sys.stderr, flush=True)
    finally:
        progress.close()
    return [x for found in known if found is not None for x in found[0]]


def _start() -> None:
    leave_interrupts()
    # Each core has its job already: threads that wait for each other are not to keep the other job's from running.
    os.environ["OMP_WAIT_POLICY"] = "passive"


def _order(work: _Work) -> tuple[str, str, str]:
    """Those beside each other that a process has read the same instructions, and the same file, for."""
    job = work.job
    return job.setting.target, job.program.name, job.setting.fp


def _run(work: _Work) -> tuple[int, list[Found]]:
    """A job's number and verdicts, which are stored as well."""
    job, state, folder = work.job, compiler_state(), work.folder / str(os.getpid())
    folder.mkdir(exist_ok=True)
    found = list(run_versions(job.program, job.function, job.setting, folder, STORE / "failed", work.remember))
    data = {"source": job.source, "state": state, "found": [pack(x) for x in found]}
    write_atomically(job.place, dumps(data, indent=1) + "\n")
    return work.number, found


def summarise(found: Sequence[Found]) -> Iterator[str]:
    """For each program and setting, how many versions are right, of how many."""
    right, all_of = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for x in found:
        at = (x.function.rpartition(".")[0], f"{x.setting.target} {x.setting.fp} {x.setting.threads}")
        all_of[at] += 1
        right[at] += not x.failed
    names = list(dict.fromkeys(name for name, _ in all_of))
    columns = list(dict.fromkeys(where for _, where in all_of))
    width = max(map(len, names), default=0)
    for number, where in enumerate(columns):
        yield f"{'':{width}}  {'|  ' * number}{where}"
    for name in names:
        cells = [f"{right[name, x]}/{all_of[name, x]}" if all_of[name, x] else "-" for x in columns]
        yield f"{name:{width}}  {'  '.join(f'{x:>7}' for x in cells)}"


def tell_how(found: Found) -> str:
    """How to see a failure again."""
    s = found.setting
    where = f"--targets {s.target} --fp {s.fp} --threads {s.threads} --fresh"
    return f"python -m bench.sweeps.version_sweep {found.function} {where}    # {found.version}: {found.message}"


def find_targets(targets: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The targets whose code can be run here, and why others are skipped."""
    missing = {x: missing_tools(x) for x in targets}
    skipped = tuple(f"skipped {x}: {why}" for x, why in missing.items() if why)
    return tuple(x for x, why in missing.items() if not why), skipped


def family_jobs(targets: Sequence[str]) -> list[Job]:
    """All programs of the library's families, in all settings of some targets."""
    names = [x.name for x in load_programs(FOLDERS[0])]
    return choose_jobs(names, settings(targets, MODES, THREADS))


def quick_jobs(targets: Sequence[str]) -> list[Job]:
    """A sample that ends within a minute."""
    return [job for name, s in QUICK.items() if s.target in targets for job in choose_jobs([name], [s])]


def stored(jobs: Sequence[Job]) -> list[Found]:
    """What is stored of some jobs."""
    return [x for job in jobs for x in (recall(job) or ([], False))[0]]


def main(arguments: Sequence[str]) -> int:
    """0 where every version is right, 1 where one is not, 130 when interrupted."""
    asked = _parser().parse_args(arguments)
    modes: list[Floats] = [x for x in MODES if x in asked.fp.split(",")]
    able, skipped = find_targets(asked.targets.split(","))
    for line in skipped:
        print(line, flush=True)
    try:
        chosen = settings(able, modes, [int(x) for x in asked.threads.split(",")])
        jobs = quick_jobs(able) if asked.quick else choose_jobs(asked.programs, chosen)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    code = 0
    try:
        found = stored(jobs) if asked.report else run_jobs(jobs, asked.stale, asked.fresh)
    except KeyboardInterrupt:
        print("interrupted: what was run is kept, and the same command goes on from there", file=sys.stderr)
        found, code = stored(jobs), INTERRUPTED
    for x in found:
        if not asked.failures or x.failed:
            print(x)
    print("\n" + "\n".join(summarise(found)))
    failed = [x for x in found if x.failed]
    print(f"\n{len(found)} versions, {len(failed)} failures")
    for x in failed:
        print(tell_how(x))
    return code or (1 if failed else 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Runs every version beside the original, on every target.")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="such as `stages` or `stages.halved`")
    parser.add_argument("--targets", default=",".join(TARGETS), metavar="A,B")
    parser.add_argument("--fp", default=",".join(MODES), metavar="A,B")
    parser.add_argument("--threads", default=",".join(map(str, THREADS)), metavar="A,B")
    parser.add_argument("--failures", action="store_true", help="print only what failed")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--fresh", action="store_true", help="run all again; default: only what has no verdict")
    which.add_argument("--stale", action="store_true", help="also run again what another planish made")
    which.add_argument("--report", action="store_true", help="run nothing, print what is stored")
    parser.add_argument("--quick", action="store_true", help="a sample, under a minute")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
