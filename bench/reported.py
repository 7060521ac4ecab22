"""What a build reports beside what its user gets: each timed function again, in fresh processes, as the user compiles.

    python bench/reported.py examples/dsp/fir.c              # one file
    python bench/reported.py --fp strict                     # all files of examples/ and of the tests' cases

Each drop-in is compiled by the printed command and by plain `-O2`; both are compared with the original. Its time is set
beside that of the original by the printed command (what the report claims), and beside the best compiler's
`-O3 -march=native`, with `-ffast-math` where `--fp` allows what that does to sums; at each size that the build timed.

>>> row = Row("f.c", "f", "reassociate", "fused", 2.0, 1.9, 1.2, ())
>>> round(row.deviation, 3), str(row)
(0.053, 'f.c f --fp reassociate, fused: reported 2.00x, found 1.90x; over the best compiler at least 1.20x')
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from contest import compiler_state
from dsp import DSP
from polybench import POLYBENCH
from record import RESULTS
from suite import read_source

from planish.core.diagnostic import PlanishError
from planish.ir.types import Floats
from planish.pipeline import FileResult, FunctionResult, Options, build_file, known_arguments
from planish.report.account import account_for
from planish.run.cases import check_cases
from planish.run.clock import ClockError, measure
from planish.run.entry import entry_text
from planish.run.oracle import compare
from planish.run.passing import signature_of
from planish.run.process import Limits
from planish.run.signature import Case, Signature
from planish.run.tolerance import Tolerance
from planish.run.toolchain import Compiler, choose_compiler, compile_library, find_compilers
from planish.target.load import load_target

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "differential" / "cases"
STORE = RESULTS / "reported.jsonl"
SECONDS = 1.0
"""For the race at one size."""
LIMITS = Limits(seconds=120.0)
PLAIN = ("-O2",)
"""What somebody compiles with who reads no banner."""


@dataclass(frozen=True, slots=True)
class Row:
    """A function that got a new nest: how many times faster it was said to be, is with the printed command, and is than
    the best compiler, where it is least so; and what is wrong with it."""

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
        """How far the report is off, relative to what was found."""
        return abs(self.reported / self.found - 1) if self.found else 0.0

    def __str__(self) -> str:
        told = f"reported {self.reported:.2f}x, found {self.found:.2f}x"
        over = f"over the best compiler at least {self.least:.2f}x"
        return f"{self.file} {self.function} --fp {self.fp}, {self.version}: {'; '.join((told, over, *self.faults))}"


@dataclass(frozen=True, slots=True)
class Course:
    """What the contestants of one function are made of: both texts, the call's signature, and where they are built."""

    original: str
    drop_in: str
    signature: Signature
    compiler: Compiler
    printed: tuple[str, ...]
    includes: tuple[Path, ...]
    folder: Path

    def build(self, text: str, compiler: Compiler, flags: Sequence[str]) -> Path:
        """A library with the function's entry in it."""
        return compile_library(
            compiler, text + entry_text(self.signature), ("-w", *flags), self.folder, LIMITS, self.includes
        )


def files() -> list[Path]:
    """The examples in C that have no `main`, and the tests' cases."""
    return [*POLYBENCH.files(), *DSP.files(), *sorted(CASES.glob("*.c"))]


def options_for(path: Path, fp: Floats, budget: float) -> Options:
    """As a user would call the build in the file's folder."""
    return Options(fp=fp, include_dirs=(path.parent,), budget=budget)


def judge_file(path: Path, fp: Floats, budget: float = 2.0) -> Iterator[Row]:
    """A row for each function of a file that got a new nest and was timed."""
    options = options_for(path, fp, budget)
    built = build_file(read_source(path), options)
    command = shlex.split(account_for(built, options).compile)
    compiler = choose_compiler(command[0])
    with tempfile.TemporaryDirectory(prefix="planish-reported-") as folder:
        for result in built.functions:
            signature, selection = signature_of(result.function), result.selection
            if signature is None or selection is None or selection.version is None or selection.clock is None:
                continue
            course = Course(
                built.source.text, built.text, signature, compiler, tuple(command[1:]), (path.parent,), Path(folder)
            )
            yield judge_function(path, built, result, course, fp)


def judge_function(path: Path, built: FileResult, result: FunctionResult, course: Course, fp: Floats) -> Row:
    """The row of one function."""
    selection = result.selection
    assert selection is not None and selection.version is not None and selection.clock is not None
    assert selection.before is not None and selection.after is not None
    name, label = result.function.name, selection.version.label
    known = tuple(
        known_arguments(p, result.function, built.source.text) for p in result.plans if p.prepared is not None
    )
    cases = check_cases(result.function, known, {})
    faults = tuple(find_faults(course, cases, fp))
    calls = [selection.clock, *(x.case for x in selection.others)]
    reported = selection.before.median / selection.after.median
    before, after = (course.build(x, course.compiler, course.printed) for x in (course.original, course.drop_in))
    found = _race([("before", before), ("after", after)], course, selection.clock)
    ratio = found["before"] / found["after"] if found else 0.0
    least = min((x for x in (over_best(course, call, fp) for call in calls) if x), default=0.0)
    return Row(path.name, name, fp, label, reported, ratio, least, faults)


def find_faults(course: Course, cases: Sequence[Case], fp: Floats) -> Iterator[str]:
    """What is wrong with the drop-in by the printed command and by plain -O2, under every compiler."""
    plain = ("-O1", "-ffp-contract=off", "-fwrapv")
    reference = course.build(course.original, course.compiler, plain)
    tolerance = "exact" if fp == "strict" else Tolerance()
    ways = [(course.compiler, course.printed), *((x, PLAIN) for x in find_compilers())]
    for compiler, flags in ways:
        try:
            library = course.build(course.drop_in, compiler, flags)
        except PlanishError as error:
            yield f"{compiler.name} {' '.join(flags)}: {error.diagnostic.message.splitlines()[0]}"
            continue
        left = tuple(cases)
        while left:
            verdict = compare(reference, library, course.signature, left, tolerance, LIMITS, 4.0)
            if verdict.status != "not comparable":
                break
            left = left[: verdict.cases_run] + left[verdict.cases_run + 1 :]
        if left and verdict.status not in ("ok", "weak"):
            yield f"{compiler.name} {' '.join(flags)}: {verdict.status}: {verdict.message}"


def over_best(course: Course, call: Case, fp: Floats) -> float:
    """The best compiler's time for the original over the best for the drop-in; 0 where the original fails there."""
    native = load_target("native")
    contestants: list[tuple[str, Path]] = []
    for compiler in find_compilers():
        flags = ("-O3", *native.flags_for(compiler.kind))
        fast = ("-ffast-math",) if fp == "reassociate" else ()
        for more in dict.fromkeys(((), fast)):
            library = course.build(course.original, compiler, (*flags, *more))
            contestants.append((f"before {compiler.name} {more}", library))
    contestants.append(("after", course.build(course.drop_in, course.compiler, course.printed)))
    found = _race(contestants, course, call)
    return min(v for k, v in found.items() if k != "after") / found["after"] if found else 0.0


def _race(contestants: Sequence[tuple[str, Path]], course: Course, call: Case) -> dict[str, float]:
    """Median seconds by label; none where a contestant does not come through the call."""
    try:
        return {t.label: t.median for t in measure(contestants, course.signature, call, SECONDS, 5)}
    except ClockError:
        return {}


def judge_all(paths: Sequence[Path], modes: Sequence[Floats], budget: float = 2.0) -> Iterator[Row | str]:
    """Rows as they are found, or why a file cannot be built; what is stored of this very planish is taken."""
    state = compiler_state()
    known = [json.loads(x) for x in STORE.read_text().splitlines()] if STORE.exists() else []
    done = {(x["path"], x["fp"]): x for x in known if x["state"] == state}
    for fp in modes:
        for path in paths:
            key = (str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path), fp)
            if key in done:
                yield from (Row(**{**x, "faults": tuple(x["faults"])}) for x in done[key]["rows"])
                continue
            try:
                rows = list(judge_file(path, fp, budget))
            except PlanishError as error:
                yield f"{path.name} --fp {fp}: {error.diagnostic.message}"
                continue
            STORE.parent.mkdir(parents=True, exist_ok=True)
            with STORE.open("a") as file:
                record = {"path": key[0], "fp": fp, "state": state, "rows": [asdict(x) for x in rows]}
                file.write(json.dumps(record) + "\n")
            yield from rows


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
            wrong += isinstance(row, Row) and bool(row.faults)
    except KeyboardInterrupt:
        print("interrupted: what was judged is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
