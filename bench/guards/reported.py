"""What a build reports beside what its user gets: each timed function again, in fresh processes, as the user compiles.

    python -m bench.guards.reported examples/dsp/fir.c              # one file
    python -m bench.guards.reported --fp strict                     # all files of examples/ and of the tests' cases

Each drop-in is compiled by the printed command and by plain `-O2`; both are compared with the original. Its time is set
beside that of the original by the printed command (what the report claims), and beside the best compiler's
`-O3 -march=native`, with `-ffast-math` where `--fp` allows what that does to sums; at each size that the build timed.
What cannot be compared or timed is a fault. Each file is stored with the state of planish, so that a run goes on where
it was stopped; the exit code is 1 where anything is at fault or a file is not built.

>>> row = Row("f.c", "f", "reassociate", "fused", 2.0, 1.9, 1.2, ())
>>> round(row.deviation, 3), str(row)
(0.053, 'f.c f --fp reassociate, fused: reported 2.00x, found 1.90x; over the best compiler at least 1.20x')
>>> Row("f.c", "f", "strict", "fused", 2.0, 0.0, 0.0, ("it does not end",)).deviation
inf
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.harness.contest import compiler_state, digest
from bench.harness.places import RESULTS, ROOT
from bench.harness.progress import Progress
from bench.harness.suite import read_source
from bench.races.dsp import DSP
from bench.races.polybench import POLYBENCH
from planish.build.assemble import FileResult
from planish.build.functions import FunctionResult
from planish.build.job import make_workbench
from planish.build.lower import known_arguments
from planish.core.diagnostic import PlanishError
from planish.ir.types import Floats
from planish.options import Options
from planish.pipeline import build_file
from planish.report.account import account_for
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.comparison import Verdict, compare
from planish.run.oracle.tolerance import Tolerance
from planish.run.processes.process import Limits
from planish.run.sizes.call_sizes import check_cases
from planish.run.timing.clock import ClockError, measure_afresh
from planish.run.toolchains.toolchain import Compiler, choose_compiler, compile_library, find_compilers
from planish.run.workbench import Reference
from planish.target.load import load_target
from planish.target.probe import usable_cores

CASES = ROOT / "tests" / "differential" / "cases"
STORE = RESULTS / "reported.jsonl"
SECONDS = 1.0
"""For the race at one size."""
LIMITS = Limits(seconds=120.0)
PATIENCE = 4.0
PLAIN = ("-O2",)
"""What somebody compiles with who reads no banner."""
BEFORE, AFTER = "before", "after"
NO_LOOP = "E0105"


@dataclass(frozen=True, slots=True)
class Row:
    """A function that got a new nest: how many times faster it was said to be, is with the printed command, and is than
    the best compiler, where it is least so (0: not known); and what is wrong with it."""

    file: str
    function: str
    fp: Floats
    version: str
    reported: float
    found: float
    least: float
    faults: tuple[str, ...]

    @property
    def deviation(self) -> float:
        """How far the report is off, relative to what was found; infinite where nothing was."""
        return abs(self.reported / self.found - 1) if self.found else math.inf

    def __str__(self) -> str:
        told = f"reported {self.reported:.2f}x, found {self.found:.2f}x"
        over = f"over the best compiler at least {self.least:.2f}x"
        return f"{self.file} {self.function} --fp {self.fp}, {self.version}: {'; '.join((told, over, *self.faults))}"


@dataclass(frozen=True, slots=True)
class Course:
    """What the contestants of one function are made of: both texts, the call's signature, what is right, and how far
    results may be from it."""

    original: str
    drop_in: str
    signature: Signature
    compiler: Compiler
    printed: tuple[str, ...]
    includes: tuple[Path, ...]
    folder: Path
    reference: Reference
    tolerance: Tolerance | str

    def build(self, text: str, compiler: Compiler, flags: Sequence[str]) -> Path:
        """A library with the function's entry in it."""
        return compile_library(
            compiler, text + entry_text(self.signature), ("-w", *flags), self.folder, LIMITS, self.includes
        )


@dataclass(slots=True)
class Findings:
    """What was judged of a file: rows, and what could not be."""

    rows: list[Row] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def files() -> list[Path]:
    """The examples in C that have no `main`, and the tests' cases."""
    return [*POLYBENCH.files(), *DSP.files(), *sorted(CASES.glob("*.c"))]


def options_for(path: Path, fp: Floats, budget: float) -> Options:
    """As a user would call the build in the file's folder."""
    return Options(fp=fp, include_dirs=(path.parent,), budget=budget)


def judge_file(path: Path, fp: Floats, budget: float = 2.0) -> Findings:
    """A row for each function of a file that got a new nest; what is told where there is none since it was not timed,
    or the file is not built."""
    options, findings = options_for(path, fp, budget), Findings()
    try:
        built = build_file(read_source(path), options)
    except PlanishError as error:
        if error.diagnostic.code != NO_LOOP:
            findings.told.append(f"{path.name} --fp {fp}: not built: {error.diagnostic.message}")
        return findings
    command = shlex.split(account_for(built, options).compile)
    with tempfile.TemporaryDirectory(prefix="planish-reported-") as folder:
        bench = make_workbench(options, load_target(options.target), Path(folder), built.source)
        for result in built.functions:
            signature, selection = signature_of(result.function), result.selection
            if signature is None or selection is None or selection.version is None:
                continue
            if selection.clock is None:
                findings.told.append(f"{path.name} {result.function.name} --fp {fp}: taken, and not timed")
                continue
            course = Course(
                built.source.text, built.text, signature, choose_compiler(command[0]), tuple(command[1:]),
                (path.parent,), Path(folder), Reference(built.source.text, bench), selection.version.tolerance(fp),
            )  # fmt: skip
            findings.rows.append(judge_function(path, built, result, course, fp))
    return findings


def judge_function(path: Path, built: FileResult, result: FunctionResult, course: Course, fp: Floats) -> Row:
    """The row of one function."""
    selection = result.selection
    assert selection is not None and selection.version is not None and selection.clock is not None
    assert selection.before is not None and selection.after is not None
    known = tuple(
        known_arguments(p, result.function, built.source.text) for p in result.plans if p.prepared is not None
    )
    faults = [*find_faults(course, check_cases(result.function, known, {}))]
    libraries = build_contestants(course, fp)
    found, least = 0.0, math.inf
    for number, call in enumerate((selection.clock, *(x.case for x in selection.others))):
        times, wrong = race(libraries, course, call)
        faults += wrong
        if AFTER not in times:
            continue
        rivals = [v for k, v in times.items() if k not in (BEFORE, AFTER)]
        least = min([least, *(x / times[AFTER] for x in rivals)])
        if not number and BEFORE in times:
            found = times[BEFORE] / times[AFTER]
    return Row(
        path.name, result.function.name, fp, selection.version.label,
        selection.before.median / selection.after.median, found, least if least < math.inf else 0.0, tuple(faults),
    )  # fmt: skip


def find_faults(course: Course, cases: Sequence[CallCase]) -> Iterator[str]:
    """What is wrong with the drop-in by the printed command and by plain -O2, under every compiler."""
    ways = [(course.compiler, course.printed), *((x, PLAIN) for x in find_compilers())]
    for compiler, flags in ways:
        way = f"{compiler.name} {' '.join(flags)}"
        try:
            library = course.build(course.drop_in, compiler, flags)
            left, why = tuple(cases), "there are none"
            while left:
                verdict = check(course, library, left, compiler, flags)
                if verdict.status != "not comparable":
                    break
                failed, why = verdict.cases_run, verdict.message
                # After a call that does not end, no later one would either.
                ends = "did not come to its end" not in verdict.message
                left = left[:failed] + (left[failed + 1 :] if ends else ())
        except PlanishError as error:
            yield f"{way}: {error.diagnostic.message.splitlines()[0]}"
            continue
        if not left:
            yield f"{way}: the original comes through no call ({why})"
        elif verdict.status not in ("ok", "weak"):
            yield f"{way}: {verdict.status}: {verdict.message}"


def check(
    course: Course, library: Path, cases: tuple[CallCase, ...], compiler: Compiler, flags: Sequence[str]
) -> Verdict:
    """What the oracle says of the drop-in, as a build asks it. Where bits are compared, those that the same command
    makes of the original are right, too: it may contract what stays as it was written. Where it does so with a part
    only, the bits are those of no original, and the drop-in is judged without contraction."""
    right, signature = course.reference.library_for(course.signature), course.signature
    if course.tolerance == "exact":
        verdict = compare(right, library, signature, cases, "exact", LIMITS, PATIENCE)
        if verdict.status != "mismatch":
            return verdict
        same = course.build(course.original, compiler, flags)
        again = compare(same, library, signature, cases, "exact", LIMITS, PATIENCE)
        if again.status == "ok":
            return again
        apart = course.build(course.drop_in, compiler, (*flags, "-ffp-contract=off"))
        return compare(right, apart, signature, cases, "exact", LIMITS, PATIENCE)
    assert isinstance(course.tolerance, Tolerance)
    verdict = compare(right, library, signature, cases, course.tolerance, LIMITS, PATIENCE)
    exact = course.reference.widen(signature) if verdict.status in ("mismatch", "weak") else None
    if exact is None:
        return verdict
    return compare(right, library, signature, cases, course.tolerance, LIMITS, PATIENCE, (), exact)


def build_contestants(course: Course, fp: Floats) -> dict[str, Path]:
    """Both texts by the printed command, and the original by every compiler; built on all cores. PlanishError where one
    of them does not compile."""
    native = load_target("native")
    wanted = {BEFORE: (course.original, course.compiler, course.printed),
              AFTER: (course.drop_in, course.compiler, course.printed)}  # fmt: skip
    for compiler in find_compilers():
        flags = ("-O3", *native.flags_for(compiler.kind))
        for more in ((), ("-ffast-math",)) if fp == "reassociate" else ((),):
            wanted[" ".join((compiler.name, *more))] = (course.original, compiler, (*flags, *more))
    with ThreadPoolExecutor(usable_cores()) as pool:
        return dict(zip(wanted, pool.map(lambda x: course.build(*x), wanted.values()), strict=True))


def race(libraries: dict[str, Path], course: Course, call: CallCase) -> tuple[dict[str, float], list[str]]:
    """Median seconds by label, and what is wrong: who does not come through the call is left out, and may only be one
    of several compilers' originals."""
    left, out = dict(libraries), []
    while left:
        try:
            times = {t.label: t.median for t in measure_afresh([*left.items()], course.signature, call, SECONDS, 5)}
        except ClockError as error:
            if error.label not in left:
                return {}, [f"cannot be timed: {error.diagnostic.message}"]
            del left[error.label]
            out.append(error)
            continue
        break
    else:
        times = {}
    rivals = left.keys() - {BEFORE, AFTER}
    return times, [x.diagnostic.message for x in out if x.label in (BEFORE, AFTER) or not rivals]


def judge_all(paths: Sequence[Path], modes: Sequence[Floats], budget: float = 2.0) -> Iterator[Row | str]:
    """Rows as they are found, or what could not be judged; what is stored of this very planish is taken."""
    state = compiler_state()
    known = [json.loads(x) for x in STORE.read_text().splitlines()] if STORE.exists() else []
    done = {tuple(x["key"]): x for x in known if x["state"] == state}
    work = {(_place(p), digest(p.read_text()), fp, budget): (p, fp) for fp in modes for p in paths}
    progress = Progress(len(work), len(work.keys() & done.keys()))
    try:
        for key, (path, fp) in work.items():
            if key not in done:
                progress.begin(f"{path.name} --fp {fp}")
                findings = judge_file(path, fp, budget)
                done[key] = {"key": key, "state": state, **asdict(findings)}
                STORE.parent.mkdir(parents=True, exist_ok=True)
                with STORE.open("a") as file:
                    file.write(json.dumps(done[key]) + "\n")
                progress.finish(f"{len(findings.rows)} functions")
            yield from (Row(**{**x, "faults": tuple(x["faults"])}) for x in done[key]["rows"])
            yield from done[key]["told"]
    finally:
        progress.close()


def _place(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def main(arguments: Sequence[str]) -> int:
    """0 where all is right, 1 where something is wrong, 130 when interrupted."""
    parser = argparse.ArgumentParser(description="Sets what builds report beside what their users get.")
    parser.add_argument("files", nargs="*", type=Path, help="C files (default: all examples and cases)")
    parser.add_argument("--fp", default="strict,reassociate", metavar="A,B")
    parser.add_argument("--budget", type=float, default=2.0, metavar="S", help="seconds a build may time a function")
    asked = parser.parse_args(arguments)
    wrong = 0
    try:
        for row in judge_all([x.resolve() for x in asked.files] or files(), asked.fp.split(","), asked.budget):
            print(row, flush=True)
            wrong += isinstance(row, str) or bool(row.faults)
    except KeyboardInterrupt:
        print("interrupted: what was judged is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
