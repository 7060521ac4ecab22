"""The corpus of raising: which of its operations are found, whether what is found computes the same, and the seconds.

    python -m bench.raising.corpus_run                       # what is missed; goes on where it was stopped
    python -m bench.raising.corpus_run --groups gemm,styles  # only some groups
    python -m bench.raising.corpus_run --table               # the operations of PolyBench as a table

Every program is compiled as it is, and again with its nests replaced by what they were raised to, operations written
out as their definitions say: both leave the same arrays, or a match is false.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from bench.harness.contest import compiler_state, digest
from bench.harness.places import RESULTS
from bench.harness.progress import Progress
from bench.harness.record import write_atomically
from bench.raising.sites import Finding, Read, find_sites, is_taken, spell, spell_whole, steps_at
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.c.translation_unit import Region
from planish.ir.nest import Kernel
from planish.poly.isl.affine import NotAffineError
from planish.raising import nests
from planish.raising.expansion import expand
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Loops, Raised, walk_steps
from planish.raising.tdl.constants import specialise_all
from planish.raising.tdl.reader import load_tactics

from corpus import Entry, Site, corpus  # isort: skip  (these lie beside the tests; `raising_sites` knows where)
from near_misses import NearMiss, near_misses  # isort: skip
from replay import call, prepare  # isort: skip
from running import differs, read_entry_file, signed_arguments  # isort: skip

STORE = RESULTS / "raising"
SEED = 5
_EXCLUDED = "stopped: ValueError: assumption"
"""How a run ends whose sizes need the original: who calls a raised kernel asks its assumptions first."""


@dataclass(frozen=True, slots=True)
class Record:
    """One program: what was found of its sites, all operations found, and whether they compute the same.

    `wrong` says how a run differs from the original's ("": it does not), `unrun` why nothing was compared; of a near
    miss `taken` has the operations that it must not be taken for. `seconds` is the time to recognise.
    """

    name: str
    group: str
    findings: tuple[Finding, ...]
    operations: tuple[str, ...]
    wrong: str
    unrun: str
    seconds: float
    taken: tuple[str, ...]
    state: str
    source: str


@cache
def operations() -> tuple[Operation, ...]:
    """What the programs are compared with: the operations that ship."""
    return tuple(x.operation for x in load_tactics())


def raise_kernel(kernel: Kernel) -> Raised:
    """A kernel as operations; one that is no static control part stays loops."""
    try:
        return nests.raise_kernel(kernel, specialise_all(operations(), kernel))
    except NotAffineError as error:
        return Raised(kernel, (Loops(kernel.body, {"S0": error.reason}),))


def examine_entry(entry: Entry) -> Record:
    """A program of the corpus."""
    read, seconds = _read(entry)
    return _record(entry, entry.name, tuple(find_sites(entry, read)), read, seconds, ())


def examine_miss(miss: NearMiss) -> Record:
    """A near miss, of which nothing must be found that it is not."""
    read, seconds = _read(miss.entry)
    right = _read(miss.original)[0]
    taken = [f"{spell(x)} ({text})" for text in miss.never for x in _taken(miss.site, text, read, right)]
    return _record(miss.entry, miss.name, (), read, seconds, tuple(taken))


def _taken(site: Site, never: str, read: Read, right: Read) -> Iterator[Apply]:
    """The operations at a place that are those of the right program: on the same elements, as often as there.

    The right program's own count only where they were found; else whatever looks like them does.
    """
    parameter = never.partition(" ")[2]
    known = {spell_whole(x, raised) for _, raised in right for x in steps_at(site.line, raised)}
    found = {spell_whole(x, raised) for x, region, raised in _like(site, "", right)}
    for step, _, raised in _like(site, parameter, read):
        if not found or parameter or spell_whole(step, raised) in known:
            yield step


def _like(site: Site, parameter: str, read: Read) -> Iterator[tuple[Apply, Region, Raised]]:
    for region, raised in read:
        for step in steps_at(site.line, raised):
            if is_taken(site, parameter, step, region, raised):
                yield step, region, raised


def _read(entry: Entry) -> tuple[Read, float]:
    regions = [region for function in read_entry_file(entry).functions for region in function.regions]
    operations()
    started = time.perf_counter()
    read = [(region, raise_kernel(region.kernel)) for region in regions]
    return read, time.perf_counter() - started


def _record(
    entry: Entry, name: str, findings: tuple[Finding, ...], read: Read, seconds: float, taken: tuple[str, ...]
) -> Record:
    found = [spell(x) for _, raised in read for x in walk_steps(raised.steps) if isinstance(x, Apply)]
    wrong, unrun = run_both(entry) if found else ("", "")
    state, source = compiler_state(), digest(entry.text)
    return Record(name, entry.group, findings, tuple(found), wrong, unrun, round(seconds, 4), taken, state, source)


def run_both(entry: Entry) -> tuple[str, str]:
    """How the raised program's arrays differ from those of the compiled original, and why nothing could be compared."""
    wrong = _compare(entry, lambda kernel: expand(raise_kernel(kernel)))
    if wrong.startswith(_EXCLUDED):
        return "", "its sizes are some that the raised kernel does not allow"
    if wrong.startswith("stopped") and (other := _compare(entry, lambda kernel: kernel)):
        return "", f"the kernel itself: {other}"
    return wrong, ""


def _compare(entry: Entry, change: Callable[[Kernel], Kernel]) -> str:
    source = Source(str(entry.path), entry.text)
    with tempfile.TemporaryDirectory(prefix="planish-raise-") as folder:
        try:
            both = prepare(source, Path(folder), entry.defines, "reassociate", entry.path.parent, change)
        except PlanishError as error:
            return f"stopped: {error.diagnostic.message}"
        for function in both.file.functions:
            if function.static or not function.regions:
                continue
            arguments = signed_arguments(function, entry.sizes, SEED)
            ours, theirs = (
                {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()} for _ in range(2)
            )
            both.buffers[:] = [v for v in ours.values() if isinstance(v, np.ndarray)]
            results = call(both.original, function, theirs), call(both.replayed, function, ours)
            if both.errors:
                return f"stopped: {type(both.errors[0]).__name__}: {both.errors[0]}"
            if function.result is not None and differs(*(np.nan_to_num(np.asarray(x)) for x in results)):
                return f"{function.name} gives back {results[1]} instead of {results[0]}"
            for name, value in theirs.items():
                if isinstance(value, np.ndarray) and differs(np.nan_to_num(value), np.nan_to_num(ours[name])):
                    return f"`{name}` differs in {function.name}"
    return ""


def run_corpus(groups: Sequence[str] = (), step: int = 1, redo: bool = False, show: bool = True) -> list[Record]:
    """Every `step`-th program of some groups (none: of all); what is stored for this state of planish is taken."""
    wanted = [x for x in corpus() if not groups or x.group in groups][::step]
    return _run([(f"{x.group}-{x.path.stem}", x.text, lambda x=x: examine_entry(x)) for x in wanted], redo, show)


def run_misses(step: int = 1, redo: bool = False, show: bool = True) -> list[Record]:
    """Every `step`-th near miss."""
    wanted = near_misses()[::step]
    return _run([(f"miss-{digest(x.name)}", x.entry.text, lambda x=x: examine_miss(x)) for x in wanted], redo, show)


def _run(jobs: Sequence[tuple[str, str, Callable[[], Record]]], redo: bool, show: bool) -> list[Record]:
    stored = {name: found for name, text, _ in jobs if not redo and (found := _load(name, text)) is not None}
    progress = Progress(len(jobs), len(stored), show)
    out = []
    try:
        for name, _, examine in jobs:
            if name not in stored:
                progress.begin(name)
                stored[name] = examine()
                write_atomically(STORE / f"{name}.json", json.dumps(asdict(stored[name]), indent=1) + "\n")
                progress.finish(f"{stored[name].seconds:.2f} s {stored[name].wrong}")
            out.append(stored[name])
    finally:
        progress.close()
    return out


def _load(name: str, text: str) -> Record | None:
    """What an earlier run found with this very planish and program."""
    try:
        data = json.loads((STORE / f"{name}.json").read_text())
        findings = tuple(Finding(**x) for x in data.pop("findings"))
        lists = {k: tuple(data[k]) for k in ("operations", "taken")}
        record = Record(**{**data, **lists, "findings": findings})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if (record.state, record.source) == (compiler_state(), digest(text)) else None


def format_table(records: Sequence[Record]) -> str:
    """The sites of some programs as a table in Markdown."""
    lines = ["| kernel | line | operation | form found |", "|---|---|---|---|"]
    for record in records:
        for x in record.findings:
            lines.append(f"| {record.name} | {x.line} | {x.operation} | {f'`{x.form}`' if x.form else '—'} |")
    return "\n".join(lines)


def format_missed(records: Sequence[Record]) -> str:
    """Each site that was not found, each wrong match, and each near miss that was taken for an operation."""
    lines = []
    for r in records:
        lines += [f"{r.group}/{r.name}:{x.line} {x.operation}: {x.reason}" for x in r.findings if not x.form]
        lines += [f"{r.group}/{r.name} is wrong: {r.wrong}"] if r.wrong else []
        lines += [f"{r.group}/{r.name} was not run: {r.unrun}"] if r.unrun else []
        lines += [f"{r.name} is taken for {x}" for x in r.taken]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """0 where all is found and right, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Raises the corpus and runs what was found.")
    parser.add_argument("--groups", default="", metavar="A,B", help="only these groups (`near` for near misses)")
    parser.add_argument("--fresh", action="store_true", help="also what is stored for this state of planish")
    parser.add_argument("--table", action="store_true", help="the operations of PolyBench as a table in Markdown")
    asked = parser.parse_args(arguments)
    groups = ("polybench",) if asked.table else tuple(x for x in asked.groups.split(",") if x)
    try:
        records = run_corpus(groups, 1, asked.fresh) if groups != ("near",) else []
        records += run_misses(1, asked.fresh) if not groups or "near" in groups else []
    except KeyboardInterrupt:
        print("interrupted: what was found is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    missed = format_missed(records)
    print(format_table(records) if asked.table else missed)
    found = [x for r in records for x in r.findings]
    print(f"\n{sum(bool(x.form) for x in found)} of {len(found)} operations found in {len(records)} programs")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
