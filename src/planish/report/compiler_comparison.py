"""Compiler comparison: the original and the drop-in under every compiler found, each verified, then timed in turns.

for contest in run_contests(source, account, options, find_compilers(), budget=3.0, tell=print):
    contest.best("original"), contest.best("planish")
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from planish.build.lower import RegionPlan, known_arguments
from planish.build.plan import sizes_of
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.core.progress import Progress
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFunction
from planish.library.signal.stockham_fft import find_slack
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.report.account import FileAccount
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.comparison import compare
from planish.run.oracle.tolerance import Tolerance, with_slack
from planish.run.processes.process import Limits
from planish.run.sizes.call_sizes import check_cases
from planish.run.sizes.workloads import clock_cases
from planish.run.timing.clock import Timing, measure_first
from planish.run.toolchains.toolchain import FEATURES, REFERENCE_FLAGS, Compiler, compile_library, supports
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target
from planish.target.machine import Target

Side = Literal["original", "polly", "planish"]
FAST = "-ffast-math"
_COMPILE_LIMITS = Limits(seconds=120)


@dataclass(frozen=True, slots=True)
class Contestant:
    """A text under a compiler with flags: the original, the original under Polly, or the drop-in."""

    side: Side
    compiler: Compiler
    flags: tuple[str, ...]

    @property
    def label(self) -> str:
        """The compiler and the flags that set contestants apart: "gcc 12.2.0 -ffast-math"."""
        polly = " polly" if self.side == "polly" else ""
        fast = f" {FAST}" if FAST in self.flags else ""
        return f"{self.compiler.name} {self.compiler.version}{polly}{fast}"


@dataclass(frozen=True, slots=True)
class Standing:
    """How a contestant fared: its times, or the reason why it has none."""

    contestant: Contestant
    timing: Timing | None
    reason: str


@dataclass(frozen=True, slots=True)
class Contest:
    """One function: the arguments it was timed with, and every contestant's place."""

    file: str
    function: str
    arguments: str
    replaced: bool
    places: tuple[Standing, ...]

    def best(self, side: Side) -> Standing | None:
        """The fastest of one side; None where none was timed."""
        timed = [p for p in self.places if p.contestant.side == side and p.timing is not None]
        return min(timed, key=lambda p: p.timing.median if p.timing else 0.0, default=None)

    def ratio(self, side: Side) -> float | None:
        """How many times faster the drop-in is than the best of `side`, each under its best compiler."""
        ours, theirs = self.best("planish"), self.best(side)
        if ours is None or theirs is None or ours.timing is None or theirs.timing is None:
            return None
        return theirs.timing.median / ours.timing.median


@dataclass(frozen=True, slots=True)
class _Event:
    """What all contestants of one function share."""

    signature: Signature
    cases: tuple[CallCase, ...]
    clocks: Sequence[CallCase]
    reference: Path
    folder: Path
    include_dirs: tuple[Path, ...]
    tolerance: Tolerance | Literal["exact"]


def list_contestants(compilers: Sequence[Compiler], target: Target, options: Options) -> tuple[Contestant, ...]:
    """Every compiler on every side, and the originals with -ffast-math too; Polly where a compiler has it."""
    out: list[Contestant] = []
    defines = tuple(f"-D{d}" for d in options.defines)
    threads = FEATURES["openmp"] if options.threads > 1 else ()
    exact = ("-ffp-contract=off",) if options.fp == "strict" else ()
    for compiler in compilers:
        base = ("-O3", *target.flags_for(compiler.kind), *defines)
        sides: list[tuple[Side, tuple[str, ...]]] = [("original", base), ("planish", (*base, *exact, *threads))]
        if compiler.kind == "clang" and supports(compiler, "polly"):
            sides.insert(1, ("polly", (*base, "-mllvm", "-polly")))
        for side, flags in sides:
            out.append(Contestant(side, compiler, flags))
            if side != "planish":
                out.append(Contestant(side, compiler, (*flags, FAST)))
    return tuple(out)


def run_contests(
    source: Source, account: FileAccount, options: Options, compilers: Sequence[Compiler], budget: float, tell: Progress
) -> Iterator[Contest]:
    """The contest of each function that has a loop nest; `budget` is in seconds for the timing of one function.

    Raises PlanishError where the original does not compile.
    """
    target = load_target(options.target)
    file = read_file(source, options)
    contestants = list_contestants(compilers, target, options)
    beside = Path(source.name).resolve().parent
    for function in file.functions:
        if not options.takes(function.name) or not function.regions:
            continue
        with tempfile.TemporaryDirectory(prefix="planish-") as folder:
            folders = (beside, *options.include_dirs)
            event = _arrange(function, file.source.written, options, compilers[0], Path(folder), folders)
            if event is None:
                continue
            built = next((f for f in account.functions if f.function == function.name), None)
            texts = file.source.written.text, account.text
            clock, standings = _compete(event, contestants, *texts, budget, options.threads, tell)
            arguments = clock.describe(event.signature)
            yield Contest(source.name, function.name, arguments, built is not None and built.replaced, standings)


def _arrange(
    function: CFunction, source: Source, options: Options, compiler: Compiler, folder: Path,
    include_dirs: tuple[Path, ...],
) -> _Event | None:  # fmt: skip
    signature = signature_of(function)
    if signature is None:
        return None
    plans: list[RegionPlan] = []
    for region in function.regions:
        try:
            plans.append(RegionPlan(region, prepare(region.kernel), (), ()))
        except NotAffineError:
            continue
    if not plans:
        return None
    known = tuple(known_arguments(p, function) for p in plans)
    cases, clocks = check_cases(function, known, options.sizes), clock_cases(function, known, options.sizes, source)
    if not clocks:
        return None
    flags = (*REFERENCE_FLAGS, *(f"-D{d}" for d in options.defines))
    reference = _compile(source.text, signature, compiler, flags, folder, include_dirs)
    slack: dict[str, float] = {}
    for x in plans:
        if x.prepared is not None:
            more = find_slack(x.prepared, options.fp, sizes_of(x.region, options))
            slack = with_slack(slack, more, dict(x.region.names))
    tolerance: Tolerance | Literal["exact"] = "exact" if options.fp == "strict" else Tolerance(slack=slack)
    return _Event(signature, cases, clocks, reference, folder, include_dirs, tolerance)


def _compile(
    text: str, signature: Signature, compiler: Compiler, flags: tuple[str, ...], folder: Path,
    include_dirs: tuple[Path, ...],
) -> Path:  # fmt: skip
    full = text + entry_text(signature)
    return compile_library(compiler, full, ("-w", *flags), folder, _COMPILE_LIMITS, include_dirs)


def _compete(
    event: _Event, contestants: tuple[Contestant, ...], original: str, ours: str, budget: float, threads: int,
    tell: Progress,
) -> tuple[CallCase, tuple[Standing, ...]]:  # fmt: skip
    """The call that was timed, and how every contestant did."""
    name = event.signature.function
    ready: list[tuple[str, Path]] = []
    places: dict[str, Standing] = {}
    for number, contestant in enumerate(contestants):
        tell(f"{name}: checking {contestant.side} under {contestant.label}")
        text = ours if contestant.side == "planish" else original
        outcome = _verify(event, contestant, text)
        if isinstance(outcome, str):
            places[str(number)] = Standing(contestant, None, outcome)
        else:
            ready.append((str(number), outcome))
            places[str(number)] = Standing(contestant, None, "")
    tell(f"{name}: timing {len(ready)} contestants")
    clock = event.clocks[0]
    try:
        if ready:
            clock, timings = measure_first(ready, event.signature, event.clocks, budget, 5, threads)
            places |= {x.label: replace(places[x.label], timing=x) for x in timings}
    except PlanishError as error:
        for label, _ in ready:
            places[label] = replace(places[label], reason=error.diagnostic.message)
    return clock, tuple(places[str(number)] for number in range(len(contestants)))


def _verify(event: _Event, contestant: Contestant, text: str) -> Path | str:
    """The contestant's library, or why it does not take part."""
    try:
        library = _compile(
            text, event.signature, contestant.compiler, contestant.flags, event.folder, event.include_dirs
        )
    except PlanishError as error:
        return error.diagnostic.message.splitlines()[0]
    verdict = compare(event.reference, library, event.signature, event.cases, event.tolerance)
    # A result that depends on the order of sums too much for a verdict is no fault of a compiler.
    return library if verdict.status in ("ok", "weak") else f"{verdict.status}: {verdict.message}"
