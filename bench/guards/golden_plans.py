"""What the compiler plans, compared with what it planned before: a change of its structure is shown to change nothing.

    python -m bench.guards.golden_plans --quick             # a sample: under three minutes
    python -m bench.guards.golden_plans                     # all rows of tests/golden/plans; goes on where it stopped
    python -m bench.guards.golden_plans dsp/fir.c --targets x86-avx512 --clock untimed
    python -m bench.guards.golden_plans --bless             # accept other names of versions whose nests are the same
    python -m bench.guards.golden_plans --bless-nests       # accept other nests, too: say in the commit which, and why
    python -m bench.guards.golden_plans --rename dots=gemv-rows mirror=transpose-inplace    # only the names
    python -m bench.guards.golden_plans --cover --fp strict # also what has no rows yet; with --bless-nests it gets some

Nothing is compiled or timed, and no target is the machine that this runs on. Rows of a folder of C files that is not in
`examples` are compared if `--sources FOLDER` says where it is.

>>> [str(x) for x in list_settings(("generic",), ("strict",), ("timed", "untimed"), (1,))]
['generic strict timed 1', 'generic strict untimed 1']
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from bench.guards.plan_rows import Clock, Difference, Row, Setting, compare_rows, parse_row, plan_file, rename
from bench.harness.contest import compiler_state
from bench.harness.places import EXAMPLES, RESULTS, ROOT
from bench.harness.progress import Progress
from bench.harness.record import write_atomically
from planish.ir.types import Floats
from planish.run.processes.workers import leave_interrupts

GOLDEN = ROOT / "tests" / "golden" / "plans"
STORE = RESULTS / "plans"
TARGETS = ("x86-avx512", "x86-avx2", "aarch64-neon", "generic")
MODES: tuple[Floats, ...] = ("reassociate", "strict", "contract")
CLOCKS: tuple[Clock, ...] = get_args(Clock)
THREADS = (1, 4)
QUICK_SECONDS, SUITE_SECONDS = 60, 16
"""What samples take by the rows' own account, which knows of no kernels that have to be made first."""
SEED = 46
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Job:
    """One file in one setting; `group`: the folder that stands before its name."""

    path: Path
    group: str
    setting: Setting

    @property
    def name(self) -> str:
        """What its rows begin with, and their setting."""
        return f"{self.group}{self.path.name} {self.setting}"

    def run(self) -> tuple[Job, tuple[Row, ...]]:
        """Its rows."""
        return self, plan_file(self.path, self.group, self.setting)


def job_of(row: Row) -> str:
    """The name of the job that a row belongs to."""
    file, _, setting = row.key.split(" ", 2)
    return f"{file} {setting}"


def list_settings(
    targets: Sequence[str], modes: Sequence[Floats], clocks: Sequence[Clock], threads: Sequence[int]
) -> tuple[Setting, ...]:
    """All combinations."""
    return tuple(Setting(t, m, c, n) for n in threads for m in modes for t in targets for c in clocks)


def list_jobs(sources: Path | None, settings: Sequence[Setting]) -> tuple[Job, ...]:
    """Every C file of the examples, or of a folder, in every setting."""
    folder = sources or EXAMPLES
    files = sorted(x for x in folder.rglob("*.c"))
    prefix = f"{sources.name}/" if sources is not None else ""

    def group(path: Path) -> str:
        inside = path.parent.relative_to(folder).as_posix()
        return prefix if inside == "." else f"{prefix}{inside}/"

    return tuple(Job(x, group(x), s) for s in settings for x in files)


def golden_file(sources: Path | None) -> Path:
    """Where the rows of the examples are, or those of a folder."""
    return GOLDEN / f"{(sources or EXAMPLES).name}.txt"


def read_rows(path: Path) -> dict[str, Row]:
    """The rows of a file by their keys."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
    rows = [parse_row(x) for x in lines if x and not x.startswith("#")]
    return {x.key: x for x in rows}


def write_rows(path: Path, rows: Mapping[str, Row]) -> None:
    """Puts rows into a file, sorted, below a head that says what is covered."""
    ordered = [rows[x] for x in sorted(rows)]
    write_atomically(path, "\n".join((*_head(ordered), *map(str, ordered))) + "\n")


def _head(rows: Sequence[Row]) -> Iterator[str]:
    yield "# What is planned: nest, target, --fp, clock, threads | cost | hash and name of each version in order."
    yield "# Compared, and accepted, by bench/guards/golden_plans.py. The cost is of the day when the row was written."
    yield f"# Covered: {len({x.key.split(' ')[0] for x in rows})} files, by setting:"
    nests = Counter(job_of(x).split(" ", 1)[1] for x in rows)
    versions: Counter[str] = Counter()
    for row in rows:
        versions[job_of(row).split(" ", 1)[1]] += len(row.versions) - 1
    yield from (f"#   {x}: {n} nests, {versions[x]} versions" for x, n in sorted(nests.items()))


def choose_sample(rows: Collection[Row], seconds: int, seed: int = SEED) -> frozenset[str]:
    """The names of some jobs, whose rows took at most so many seconds together; of the dearest ones none.

    >>> rows = [parse_row(f"f{n}.c f.1 generic strict timed 1 | {n}s | 00000000 as read") for n in (1, 2, 9)]
    >>> sorted(choose_sample(rows, 16))
    ['f1.c generic strict timed 1', 'f2.c generic strict timed 1']
    """
    costs: Counter[str] = Counter()
    for row in rows:
        costs[job_of(row)] += row.seconds
    names = sorted(costs)
    random.Random(seed).shuffle(names)
    out, left = set(), seconds
    for name in names:
        if costs[name] <= min(left, seconds // 8):
            out.add(name)
            left -= costs[name]
    return frozenset(out)


def run_jobs(jobs: Sequence[Job], processes: int, fresh: bool, show: bool = True) -> Iterator[tuple[Job, list[Row]]]:
    """The rows of each job, in the order in which they come; those that this state of the compiler has already are
    taken from where they are stored. Each job has a process of its own, so that none knows what another one did."""
    store = STORE / compiler_state()
    known = [] if fresh else [x for x in jobs if _place(store, x).exists()]
    for job in known:
        yield job, [parse_row(x) for x in _place(store, job).read_text(encoding="utf-8").splitlines()]
    left = [x for x in jobs if x not in known]
    progress = Progress(len(jobs), len(known), show)
    context = multiprocessing.get_context("fork")
    with context.Pool(processes, leave_interrupts, maxtasksperchild=1) as pool:
        for job, rows in pool.imap_unordered(Job.run, left):
            write_atomically(_place(store, job), "\n".join(map(str, rows)))
            progress.begin(job.name)
            progress.finish(f"{sum(len(x.versions) - 1 for x in rows)} versions")
            yield job, list(rows)
    progress.close()


def _place(store: Path, job: Job) -> Path:
    return store / f"{job.name.replace('/', '-').replace(' ', '_')}.txt"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rows of a file beside those that were expected of it."""

    expected: Mapping[str, Row]
    found: Mapping[str, Row]

    def differences(self) -> dict[str, Difference]:
        """By the keys of the rows; one that is only on one side differs."""
        out = {}
        for key in sorted({*self.expected, *self.found}):
            before, after = self.expected.get(key), self.found.get(key)
            if before is None or after is None:
                out[key] = Difference(others=("ROW IS NEW" if before is None else "ROW IS GONE",))
            elif difference := compare_rows(before, after):
                out[key] = difference
        return out

    def report(self) -> str:
        """What differs: names whose nests are the same in one line each, the others row by row."""
        differences = self.differences()
        renamed = Counter(x for d in differences.values() for x in d.renamed)
        lines = [f"{len(self.found)} rows, {len(differences)} differ"]
        lines += [f"renamed, nest the same: {a} -> {b} ({n} times)" for (a, b), n in sorted(renamed.items())]
        lines += [f"{key}: {'; '.join(d.others)}" for key, d in differences.items() if d.others]
        return "\n".join(lines)

    def blessed(self, nests: bool) -> dict[str, Row]:
        """The rows as they are to be expected from now on: with new names, and with other nests if these are accepted,
        too. What a row cost stays."""
        out = dict(self.expected)
        for key, difference in self.differences().items():
            found = self.found.get(key)
            if difference.others and not nests:
                continue
            if found is None:
                del out[key]
            else:
                out[key] = replace(found, seconds=out[key].seconds) if key in out else found
        return out


def compare_jobs(expected: Mapping[str, Row], done: Mapping[Job, Sequence[Row]]) -> Comparison:
    """The rows of some jobs beside those that are expected of them."""
    names = {x.name for x in done}
    before = {key: row for key, row in expected.items() if job_of(row) in names}
    return Comparison(before, {row.key: row for rows in done.values() for row in rows})


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="files, as dsp/fir.c, or parts of names; all where none is named")
    parser.add_argument("--sources", type=Path, help="a folder of C files in place of the examples")
    parser.add_argument("--targets", nargs="+", default=TARGETS, choices=TARGETS)
    parser.add_argument("--fp", nargs="+", default=MODES, choices=MODES)
    parser.add_argument("--clock", nargs="+", default=CLOCKS, choices=CLOCKS)
    parser.add_argument("--threads", nargs="+", type=int, default=THREADS)
    parser.add_argument("--quick", action="store_true", help="a seeded sample of the rows")
    parser.add_argument("--cover", action="store_true", help="also files and settings that have no rows")
    parser.add_argument("--share", type=float, default=1.0, help="with --cover: a seeded share of the files")
    parser.add_argument("--bless", action="store_true", help="accept names")
    parser.add_argument("--bless-nests", action="store_true", help="accept names, nests and rows")
    parser.add_argument("--rename", nargs="+", metavar="OLD=NEW", help="other names in all rows; nothing is planned")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--fresh", action="store_true", help="plan again what this state of the compiler has planned")
    return parser.parse_args(arguments)


def choose_jobs(asked: argparse.Namespace, expected: Mapping[str, Row]) -> tuple[Job, ...]:
    """The jobs that the command line asks for."""
    jobs = list_jobs(asked.sources, list_settings(asked.targets, asked.fp, asked.clock, asked.threads))
    jobs = tuple(x for x in jobs if not asked.names or any(y in x.name for y in asked.names))
    if asked.quick:
        sample = choose_sample(expected.values(), QUICK_SECONDS)
        return tuple(x for x in jobs if x.name in sample)
    covered = {job_of(x) for x in expected.values()}
    if not asked.cover:
        return tuple(x for x in jobs if x.name in covered)
    files = sorted({x.path for x in jobs})
    some = {*random.Random(SEED).sample(files, round(asked.share * len(files)))}
    return tuple(x for x in jobs if x.path in some or x.name in covered)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where all rows are as expected, or what differs is accepted; 1 otherwise."""
    asked = parse_arguments(arguments)
    if asked.sources is not None:
        asked.sources = asked.sources.resolve()
    golden = golden_file(asked.sources)
    expected = read_rows(golden)
    if asked.rename:
        names = dict(x.split("=", 1) for x in asked.rename)
        write_rows(golden, {key: rename(row, names) for key, row in expected.items()})
        return 0
    done: dict[Job, list[Row]] = {}
    stopped = False
    try:
        done.update(run_jobs(choose_jobs(asked, expected), asked.jobs, asked.fresh))
    except KeyboardInterrupt:
        stopped = True
    return INTERRUPTED if stopped else _conclude(asked, golden, expected, compare_jobs(expected, done))


def _conclude(asked: argparse.Namespace, golden: Path, expected: Mapping[str, Row], found: Comparison) -> int:
    """Says what differs, and writes what is accepted."""
    print(found.report())
    if not (asked.bless or asked.bless_nests):
        return 1 if found.differences() else 0
    blessed = found.blessed(asked.bless_nests)
    kept = {key: row for key, row in expected.items() if key not in found.expected}
    write_rows(golden, kept | blessed)
    left = Comparison(blessed, found.found).differences()
    if left:
        print(f"{len(left)} rows have other nests, which are accepted with --bless-nests only")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
