"""The claims `correctness`: nothing wrong, nothing false, nothing refused without a reason, nothing slower.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.guards import build_time, reported
from bench.harness.contest import compiler_state, digest
from bench.harness.journal import Journal
from bench.harness.places import RESULTS, ROOT
from bench.promises.claim import Claim, Note, at_least, at_most
from bench.races.polybench import POLYBENCH
from bench.sweeps import elementwise, fuzz
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.types import Floats
from planish.options import Options
from planish.pipeline import build_file
from planish.report.account import FileAccount, account_for

sys.path.insert(0, str(ROOT / "tests" / "differential"))

from test_cases import FOLDER, NAMES, SETTINGS
from tests.differential.judging import judge, read_demands
from tests.property.checks import CHECKS
from tests.property.run import check_program

MODES: tuple[Floats, ...] = ("strict", "reassociate")
MEANING = ("-ffast-math", "-Ofast", "-funsafe", "-ffinite", "-fassociative", "-freciprocal", "-fno-signed", "-fno-math")
"""What begins a flag that changes what a program means."""
LISTINGS, FEW_LISTINGS = 10_000, 2
PROGRAMS, FEW_PROGRAMS = 10_000, 4
FEW_LOOPS, FEW_CASES, FEW_FILES = 30, 2, 2
SEED = 45
LEAST, OFF = 0.97, 0.15


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """All claims; `quick` takes a sample and says so in notes, `stored` runs nothing again but the clock. What was run
    by this very planish is kept, so that the same command goes on where it was stopped."""
    yield from examine_cases(quick, stored)
    yield from examine_loops(quick, stored)
    yield from examine_listings(quick, stored)
    yield from examine_programs(quick, stored)
    yield from examine_budgets(quick, stored)
    yield from examine_reports(quick, stored)
    yield from examine_times(quick)


def examine_cases(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """Programs that were not handled well once, in every setting, with the clock where they ask for it."""
    names = NAMES[:: len(NAMES) // FEW_CASES] if quick else NAMES
    work = {}
    for name in names:
        path = FOLDER / f"{name}.c"
        measured = read_demands(path.read_text()).measured and not quick
        for options in [*SETTINGS.values(), *([()] if measured else [])]:
            key = f"{name} {' '.join(options)}".rstrip()
            work[f"{key}, {digest(path.read_text())[:12]}"] = partial(_judge_case, path, options)
    failed = run = 0
    for key, faults in Journal(RESULTS / "cases.jsonl").run(work, not stored):
        yield from (Note(f"{key}: {x}") for x in faults)
        failed, run = failed + bool(faults), run + 1
    yield Note(f"{run} of {len(work)} builds of {len(names)} of {len(NAMES)} cases")
    yield at_least("soundness.cases_run", run, len(work))
    yield at_most("soundness.cases_failed", failed, 0)


def _judge_case(path: Path, options: Sequence[str]) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="planish-case-") as folder:
        return judge(path, path.with_suffix(".expected").read_text(), options, Path(folder))


def examine_loops(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """Every elementary loop over every arithmetic type, with `--fp strict` and as the default is."""
    chosen = elementwise.choose(FEW_LOOPS if quick else None, SEED, "")
    wanted = {(x.key, fp) for x in chosen for fp in MODES}
    known = {at: x for at, x in elementwise.recall().items() if at in wanted}
    mine = {at: found for at, (found, of) in known.items() if of == compiler_state()}
    old = [found for at, (found, _) in known.items() if at not in mine]
    left = {fp: [x for x in chosen if (x.key, fp) not in mine] for fp in (() if stored else MODES)}
    work = [part for fp, loops in left.items() for part in elementwise.split(loops, fp, 60)]
    for found in elementwise.run_all(work, sum(len(x.loops) for x in work)):
        mine[found.key, found.fp] = found
    findings = [*mine.values()]
    yield Note(f"{len(findings)} loops of this planish, {sum(map(elementwise.is_fault, findings))} of them at fault")
    yield Note(f"{len(old)} loops of another state alone, {sum(map(elementwise.is_fault, old))} of them at fault then")
    yield from map(Note, elementwise.summarise(findings))
    faults = Counter(x.outcome for x in findings if elementwise.is_fault(x))
    yield at_least("soundness.loops_run", len(findings), len(wanted))
    yield at_most("soundness.loops_not_taken", faults.pop("unchanged", 0), 0)
    yield at_most("soundness.loops_wrong_or_crashed", faults.total(), 0)


def examine_listings(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """Random C files as people write them, in four settings each; a sample in two that are built without checks."""
    count = FEW_LISTINGS if quick else LISTINGS
    asked = ["--count", str(count), "--settings", "any,any-strict" if quick else "strict,default,clang,measured"]
    options = fuzz.parse(asked)
    if not stored:
        fuzz.main(asked)
    records, old = fuzz.recall(options)
    kinds, then = (Counter(x["kind"] for r in found for x in r["faults"]) for found in (records, old))
    seeds = f"seeds {options.seed} to {options.seed + count - 1}, --settings {options.settings}"
    yield Note(f"{len(records)} random files by this planish, {seeds}: {dict(kinds)}")
    yield Note(f"{len(old)} random files by another state alone: {dict(then)} then")
    yield at_least("soundness.files_run", len(records), count)
    yield at_most("soundness.files_over_budget", sum(kinds.pop(x, 0) for x in ("slow", "late")), 0)
    for kind in fuzz.BENIGN:
        kinds.pop(kind, None)
    yield at_most("soundness.files_wrong_or_crashed", kinds.total(), 0)


def examine_programs(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """Random affine programs through every check (`python -m tests.property.run` does them in several processes)."""
    seeds = range(FEW_PROGRAMS if quick else PROGRAMS)
    work = {str(seed): partial(check_program, seed, tuple(CHECKS), Counter[str]()) for seed in seeds}
    found = dict(Journal(RESULTS / "programs.jsonl").run(work, not stored))
    faults = [x for told in found.values() for x in told]
    yield from (Note(x.splitlines()[0]) for x in faults[:3])
    yield at_least("soundness.programs_run", len(found), len(work))
    yield at_most("soundness.programs_wrong", len(faults), 0)


def examine_budgets(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """What builds cost in the processor's time, without the clock and with it."""
    files = _some(build_time.find_files(), quick)
    plain = list(build_time.builds_of(files, False, stored=stored))
    # A sample has no time for the clock.
    timed = [] if quick else list(build_time.builds_of(files, True, stored=stored))
    large = list(build_time.build_large(False, stored=stored or quick))
    yield Note(f"{len(plain)} of {len(files)} files are built without the clock, {len(timed)} with it")
    yield at_least("soundness.files_built", len(plain) if quick else min(len(plain), len(timed)), len(files))
    yield at_most("soundness.builds_failed", sum(x.code != 0 for x in (*plain, *timed, *(x for x, _ in large))), 0)
    if plain:
        costs = build_time.weigh(plain, build_time.UNMEASURED)
        yield at_most("soundness.build_seconds_median", costs.median, costs.budget.median)
        yield at_most(f"soundness.build_seconds_worst.{costs.slowest}", costs.worst, costs.budget.worst)
    if timed:
        costs = build_time.weigh(timed, build_time.MEASURED)
        yield at_most(f"soundness.timed_seconds_worst.{costs.slowest}", costs.worst, costs.budget.worst)
    if not quick:
        yield at_least("soundness.large_files_built", len(large), 2)
    for build, budget in large:
        yield at_most(f"soundness.build_seconds.{build.file}", build.cpu_seconds, budget.worst)


def examine_reports(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """What builds without the clock say: a reason for each function that is left as it is, and no flag that changes
    what a program means."""
    files = _some(reported.files(), quick)
    work = {
        f"{path.name} --fp {fp}, {digest(path.read_text())[:12]}": partial(_report_of, path, fp)
        for path in files for fp in MODES
    }  # fmt: skip
    found = dict(Journal(RESULTS / "reports.jsonl").run(work, not stored))
    for key, said in found.items():
        yield from (Note(f"{key}: {x}") for x in (said["error"], *said["silent"]) if x)
    yield Note(f"{sum(x['functions'] for x in found.values())} functions of {len(files)} files")
    yield at_least("soundness.reports_made", len(found), len(work))
    yield at_most("soundness.files_not_built", sum(bool(x["error"]) for x in found.values()), 0)
    yield at_most("soundness.reports_without_reason", sum(len(x["silent"]) for x in found.values()), 0)
    yield at_most("soundness.commands_that_change_meaning", sum(x["harmful"] for x in found.values()), 0)


def _report_of(path: Path, fp: Floats) -> dict[str, Any]:
    """What a build without the clock says: the error, the functions without a reason, whether the command changes what
    a program means, and how many functions there are."""
    account = _build(path, fp)
    if isinstance(account, PlanishError):
        known = account.diagnostic.code == reported.NO_LOOP
        return {"error": "" if known else account.diagnostic.message, "silent": [], "harmful": False, "functions": 0}
    silent = [f"no reason is given for `{x.function}`" for x in account.functions if not x.replaced and not x.reasons]
    harmful = any(x.startswith(MEANING) for x in account.compile.split())
    return {"error": "", "silent": silent, "harmful": harmful, "functions": len(account.functions)}


def _build(path: Path, fp: Floats) -> FileAccount | PlanishError:
    options = Options(fp=fp, include_dirs=(path.parent,), measure=False)
    try:
        return account_for(build_file(Source(path.name, path.read_text()), options), options)
    except PlanishError as error:
        return error


def examine_times(quick: bool) -> Iterator[Claim | Note]:
    """What builds with the clock report, measured anew; and the drop-ins beside the best compiler, at three sizes."""
    paths = [POLYBENCH.folder / "mvt.c"] if quick else reported.files()
    found = []
    for row in reported.judge_all(paths, MODES[1:] if quick else MODES, 0.5 if quick else 2.0):
        yield Note(str(row))
        found.append(row)
    rows = [x for x in found if isinstance(x, reported.Row)]
    yield at_least("soundness.functions_timed", len(rows), 1)
    yield at_most("soundness.not_built_or_not_timed", len(found) - len(rows), 0)
    yield at_most("soundness.drop_ins_wrong", sum(bool(x.faults) for x in rows), 0)
    yield at_most("soundness.reported_off", max((x.deviation for x in rows), default=math.inf), OFF)
    yield at_least("soundness.over_best_compiler_least", min((x.least for x in rows), default=0.0), LEAST)


def _some(paths: Sequence[Path], quick: bool) -> Sequence[Path]:
    return paths[:: len(paths) // FEW_FILES] if quick else paths
