"""The claims `reach`: how much of the C that programs are written in is taken, and how long it takes to read.

Public bases are read and not compiled: those of `bench/sweeps/public_bases.txt` that lie in the folder `--bases`, and
programs that must be taken and right, in the folder `--cases`. Without these folders nothing is counted.

    for item in examine(quick=True, stored=False, bases=Path("bases")): print(item)
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench.harness.contest import digest
from bench.harness.journal import Journal
from bench.harness.places import BENCH, RESULTS, ROOT
from bench.promises.claim import Claim, Note, at_least, at_most
from bench.sweeps.public_code import calls_alone, count, has_loops, summarise

sys.path.insert(0, str(ROOT / "tests" / "differential"))

from tests.differential.judging import judge

LIST = BENCH / "sweeps" / "public_bases.txt"
FOLDERS = ("bases", "cases")
FILES, FEW_FILES, FEW_BASES, FEW_CASES = 12, 3, 3, 2
"""Files of each base, evenly spread; so many in a sample, of so many bases, and so many cases."""
COVERAGE, BASES, FUNCTIONS = 0.8, 15, 2000
MEDIAN, WORST = 0.5, 5.0
SETTINGS = (("--no-measure",), ("--no-measure", "--fp", "strict"))


@dataclass(frozen=True, slots=True)
class Base:
    """A source package, and the command in its folder that makes headers which are not in it ("-": none)."""

    name: str
    version: str
    made_by: str

    @property
    def fetched_by(self) -> str:
        """The commands that fetch it."""
        behind = "" if self.made_by == "-" else f", then `{self.made_by}` in it"
        return f"`apt-get source {self.name}={self.version}`{behind}"


def read_list(text: str) -> list[Base]:
    """The bases of a list.

    >>> [x.fetched_by for x in read_list("# Two.\\na 1-1 -\\nb 2-1 ./configure --quiet\\n")]
    ['`apt-get source a=1-1`', '`apt-get source b=2-1`, then `./configure --quiet` in it']
    """
    lines = (x.split(maxsplit=2) for x in text.splitlines() if x.strip() and not x.startswith("#"))
    return [Base(name, version, made_by) for name, version, made_by in lines]


def find(base: Base, folder: Path) -> Path | None:
    """The folder of a base: its name, alone or with a version behind it."""
    found = [folder / base.name, *sorted(folder.glob(f"{base.name}-[0-9]*"))]
    return next((x for x in found if x.is_dir()), None)


def examine(quick: bool, stored: bool, bases: Path | None = None, cases: Path | None = None) -> Iterator[Claim | Note]:
    """Functions with loops that have at least one nest which is taken, the processor's seconds that a file is read in,
    and crashes; programs that must be taken and right."""
    yield from examine_bases(quick, stored, bases)
    yield from examine_cases(quick, stored, cases)


def examine_bases(quick: bool, stored: bool, folder: Path | None) -> Iterator[Claim | Note]:
    """The public bases; nothing is claimed where none is there."""
    listed = read_list(LIST.read_text())
    journal = Journal(RESULTS / "public_code.jsonl")
    files: list[dict[str, Any]] = []
    read = 0
    for base in listed:
        place = None if folder is None else find(base, folder)
        if place is None:
            yield Note(f"{base.name} is left out: it is not in the folder --bases ({base.fetched_by})")
            continue
        if quick and read == FEW_BASES:
            yield Note(f"{base.name} and those behind it are left out of a sample")
            break
        found = count(place, FEW_FILES if quick else FILES, journal, not stored)
        yield Note(summarise(base.name, found)[0])
        files, read = [*files, *found], read + 1
    functions = [f for x in files for f in x["functions"] if has_loops(f)]
    if functions:
        yield from weigh(functions, files)
    if not quick and folder is not None:
        yield at_least("reach.bases", read, BASES)
        yield at_least("reach.functions", len(functions), FUNCTIONS)


def weigh(functions: Sequence[dict[str, Any]], files: Sequence[dict[str, Any]]) -> Iterator[Claim | Note]:
    """What the functions with loops and the files of all bases come to. Files that are not read, most often as a header
    is missing, are told, and have no functions."""
    taken, bare = sum(bool(f["taken"]) for f in functions), sum(map(calls_alone, functions))
    unread = [x for x in files if "refused" in x]
    crashed = [x for x in files if "crash" in x or "hang" in x]
    yield from (Note(f"{x['file']}: {x.get('hang') or x['crash'].strip().splitlines()[-1]}") for x in crashed)
    codes = ", ".join(sorted({x["refused"] for x in unread})) or "-"
    yield Note(f"{len(unread)} of {len(files)} files are not read: {codes}")
    yield Note(f"{taken} of {len(functions)} functions with loops have a nest that is taken")
    others = f"of the others, {taken / max(len(functions) - bare, 1):.1%} have one"
    yield Note(f"{bare} only have loops that call functions of which nothing is known; {others}")
    yield at_least("reach.coverage", taken / len(functions), COVERAGE)
    seconds = [x["seconds"] for x in files]
    yield Note(f"the slowest file: {max(files, key=lambda x: x['seconds'])['file']}")
    yield at_most("reach.read_seconds_median", median(seconds), MEDIAN)
    yield at_most("reach.read_seconds_worst", max(seconds), WORST)
    yield at_most("reach.crashes", len(crashed), 0)


def examine_cases(quick: bool, stored: bool, folder: Path | None) -> Iterator[Claim | Note]:
    """Programs `NAME.c` beside what they print, `NAME.expected`, however they are built and compiled."""
    found = sorted(x for x in folder.glob("*.c") if x.with_suffix(".expected").exists()) if folder is not None else []
    if not found:
        yield Note("no cases: their folder is given by --cases (each a NAME.c with what it prints, NAME.expected)")
        return
    chosen = found[:: max(1, len(found) // FEW_CASES)] if quick else found
    work = {
        f"{path.name} {' '.join(setting)}, {digest(path.read_text())[:12]}": partial(_judge, path, setting)
        for path in chosen for setting in SETTINGS
    }  # fmt: skip
    faults = dict(Journal(RESULTS / "reach_cases.jsonl").run(work, not stored))
    yield from (Note(f"{key}: {x}") for key, told in faults.items() for x in told)
    yield at_least("reach.cases_run", len(faults), len(work))
    yield at_most("reach.cases_failed", sum(map(bool, faults.values())), 0)


def _judge(path: Path, setting: Sequence[str]) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="planish-reach-") as folder:
        return judge(path, path.with_suffix(".expected").read_text(), setting, Path(folder))
