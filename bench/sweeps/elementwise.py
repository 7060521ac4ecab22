"""Elementwise conformance sweep: every elementary loop over every arithmetic type, built and run beside the original.

    python -m bench.sweeps.elementwise                      # all, on all cores; can be interrupted and goes on
    python -m bench.sweeps.elementwise --sample 2000 --seed 7
    python -m bench.sweeps.elementwise --only 'add/map/'    # those whose key has the pattern
    python -m bench.sweeps.elementwise --versions every     # all versions that are tried where there is a clock
    python -m bench.sweeps.elementwise --versions checked   # with the checks of `planish build`: much slower
    python -m bench.sweeps.elementwise --again              # those that were at fault, once more
    python -m bench.sweeps.elementwise --report             # what is stored

Each loop is taken, or unchanged with a reason, or at fault: wrong, an internal error, left without a need. Guarded
stores (`if (a[i] > b[i]) o[i] = …`) may stay unchanged, since no store may be made that the original does not make, and
so may sums of a constant (`t += 7`), where nothing is left to schedule.

>>> is_fault(Finding("add/map/char,char,char/int", "strict", "taken"))
False
>>> is_fault(Finding("add/map/char,char,char/int", "strict", "unchanged", "scop-condition: a store under a condition"))
True
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from json import dumps, loads
from pathlib import Path
from typing import get_args

from bench.harness.contest import compiler_state
from bench.harness.places import RESULTS
from bench.harness.progress import Progress
from bench.sweeps.elementwise_loops import Loop, all_loops
from bench.sweeps.elementwise_run import Finding, Which, run_loops
from planish.ir.types import Floats
from planish.run.processes.workers import CORES, leave_interrupts

STORE = RESULTS / "elementwise.jsonl"
MODES: tuple[Floats, ...] = ("strict", "reassociate")
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Work:
    """Loops that are built as one file, in a mode."""

    loops: tuple[Loop, ...]
    fp: Floats
    which: Which


def is_fault(finding: Finding) -> bool:
    """Whether a loop did not become what it should."""
    operation, form, *_ = finding.key.split("/")
    match finding.outcome:
        case "taken":
            return False
        case "unchanged" if form == "guard":
            return not finding.reason.startswith("scop-condition: ")
        case "unchanged" if form in ("sum", "count") and operation in ("constant", "scalar"):
            return not finding.reason.startswith("scop-empty: it only steps")
        case _:
            return True


def choose(sample: int | None, seed: int, only: str) -> list[Loop]:
    """The loops of a sample (all where there is none), in an order that the seed says."""
    found = [x for x in all_loops() if re.search(only, x.key)]
    rng = random.Random(seed)
    rng.shuffle(found)
    return found[:sample]


def recall() -> dict[tuple[str, str], tuple[Finding, str]]:
    """The last finding of each loop and mode, and the state of planish that it is of."""
    out: dict[tuple[str, str], tuple[Finding, str]] = {}
    for line in STORE.read_text().splitlines() if STORE.exists() else ():
        data = loads(line)
        state = data.pop("state")
        found = Finding(**data)
        out[found.key, found.fp] = (found, state)
    return out


def keep(findings: Sequence[Finding], state: str) -> None:
    """Append findings to what is stored."""
    STORE.parent.mkdir(parents=True, exist_ok=True)
    with STORE.open("a") as file:
        file.writelines(dumps(asdict(x) | {"state": state}) + "\n" for x in findings)


def split(loops: Sequence[Loop], fp: Floats, size: int, which: Which = "first") -> Iterator[Work]:
    """Files of at most `size` loops."""
    for first in range(0, len(loops), size):
        yield Work(tuple(loops[first : first + size]), fp, which)


def run(work: Work) -> list[Finding]:
    """The findings of one file; where the drop-in does not compile, its loops are tried one by one."""
    with tempfile.TemporaryDirectory(prefix="planish-elementwise-") as folder:
        found = run_loops(work.loops, work.fp, Path(folder), work.which)
    if len(work.loops) == 1 or all(x.outcome != "not compiled" for x in found):
        return found
    return [y for x in split(work.loops, work.fp, 1, work.which) for y in run(x)]


def run_all(work: Sequence[Work], total: int, show: bool = True) -> Iterator[Finding]:
    """Findings as they come; KeyboardInterrupt leaves what was stored."""
    state = compiler_state()
    progress = Progress(len(work), 0, show)
    counts: Counter[str] = Counter()
    try:
        for found in CORES.run(run, work, leave_interrupts):
            keep(found, state)
            counts.update(x.outcome for x in found)
            progress.finish(", ".join(f"{v} {k}" for k, v in counts.most_common()) + f" of {total} loops")
            for x in found:
                if is_fault(x) and show:
                    print(f"  {x.outcome}: {x.key} --fp {x.fp}: {x.reason}"[:300], file=sys.stderr, flush=True)
            yield from found
    finally:
        progress.close()


def summarise(found: Sequence[Finding]) -> Iterator[str]:
    """How many of each outcome, by form; and the faults by what is behind them."""
    forms = Counter((x.key.split("/")[1], x.outcome) for x in found)
    for form in sorted({x for x, _ in forms}):
        told = ", ".join(f"{n} {outcome}" for (f, outcome), n in sorted(forms.items()) if f == form)
        yield f"{form:10} {told}"
    for reason, n in Counter(_cluster(x) for x in found if is_fault(x)).most_common():
        example = next(x for x in found if is_fault(x) and _cluster(x) == reason)
        yield f"{n:6} {reason}\n       {example.key} --fp {example.fp}"
    faults = sum(map(is_fault, found))
    taken = sum(x.outcome == "taken" for x in found)
    kept = len(found) - taken - faults
    yield f"{len(found)} loops: {taken} taken, {kept} unchanged as they may be, {faults} faults"


def _cluster(finding: Finding) -> str:
    """What findings of one cause have alike."""
    return f"{finding.outcome}: " + re.sub(r"`[^`]*`|[0-9]+|: np.*", "…", finding.reason)[:120]


def main(arguments: Sequence[str]) -> int:
    """0 where nothing is at fault, 1 where something is, 130 when interrupted."""
    asked = _parser().parse_args(arguments)
    modes: list[Floats] = [x for x in get_args(Floats) if x in asked.fp.split(",")]
    chosen = choose(asked.sample, asked.seed, asked.only)
    print(f"{len(chosen)} loops, --fp {','.join(modes)}, seed {asked.seed}", flush=True)
    wanted = {(x.key, fp) for x in chosen for fp in modes}
    state, known = compiler_state(), recall()
    mine = {at: found for at, (found, of) in known.items() if at in wanted and not (asked.stale and of != state)}
    if asked.again:
        skipped = {at for at in wanted if at not in mine or not is_fault(mine[at])}
    elif asked.report:
        skipped = wanted
    else:
        skipped = set() if asked.fresh else {*mine}
    work = [
        part for fp in modes
        for part in split([x for x in chosen if (x.key, fp) not in skipped], fp, asked.batch, asked.versions)
    ]  # fmt: skip
    code = 0
    try:
        for found in run_all(work, sum(len(x.loops) for x in work)):
            mine[found.key, found.fp] = found
    except KeyboardInterrupt:
        print("interrupted: what was run is kept, and the same command goes on from there", file=sys.stderr)
        mine, code = {at: found for at, (found, _) in recall().items() if at in wanted}, INTERRUPTED
    print("\n".join(summarise(list(mine.values()))))
    return code or int(any(map(is_fault, mine.values())))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Builds every elementary loop, and runs it beside the original.")
    parser.add_argument("--sample", type=int, metavar="N", help="so many loops; default: all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample and of the order")
    parser.add_argument("--only", default="", metavar="PATTERN", help="loops whose key has it: OPERATION/FORM/TYPES/…")
    parser.add_argument("--fp", default=",".join(MODES), metavar="A,B")
    parser.add_argument("--batch", type=int, default=60, metavar="N", help="loops in one file")
    parser.add_argument(
        "--versions", choices=get_args(Which), default="first",
        help="the most promising one; each; or the one that planish's own checks let through",
    )  # fmt: skip
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--fresh", action="store_true", help="run all again; default: only what has no finding")
    which.add_argument("--stale", action="store_true", help="also run again what another planish made")
    which.add_argument("--again", action="store_true", help="run again what was at fault")
    which.add_argument("--report", action="store_true", help="run nothing, print what is stored")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
