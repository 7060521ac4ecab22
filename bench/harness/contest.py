"""The race over one C file: contestants are compiled, checked against the original, and timed in turns on one core.

    rules = Rules(find_compilers())
    result = hold(POLYBENCH, POLYBENCH.files(["gemm"])[0], "LARGE", rules, print)
    result.heats[0].ratio("compiler")
"""

from __future__ import annotations

import hashlib
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import planish
from bench.harness.places import RESULTS
from bench.harness.record import Heat, LeftOut, Result, Team, Time
from bench.harness.suite import Suite, read_source, smaller_dataset
from planish.build.assemble import FileResult
from planish.build.functions import FunctionResult
from planish.build.job import make_workbench
from planish.core.cache import Cache, key
from planish.core.diagnostic import PlanishError
from planish.options import Options
from planish.pipeline import build_file
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.comparison import compare
from planish.run.oracle.tolerance import Tolerance
from planish.run.processes.process import Limits
from planish.run.timing.clock import ClockError, Timing, measure
from planish.run.toolchains.toolchain import FEATURES, Compiler, choose_compiler, compile_library, supports
from planish.target.load import load_target

Tell = Callable[[str], None]

FAST = "-ffast-math"
_PASSED = b"passed\n"


@dataclass(frozen=True, slots=True)
class Rules:
    """Who takes part, and the seconds to spend.

    `budget` is the time for timing one function: below a second a call that gives many rounds, for slow ones it may
    be overrun by a factor of 4 to reach 5, and less where that is not enough. `time_limit` bounds the compilation of a
    contestant and its check; `build_budget` is what planish spends on choosing a version. `builder` names the compiler
    that planish uses for that (None: its own choice). `remember`: rivals that were compiled and checked by an earlier
    run with the same text, flags and compiler are taken as they were (Polly may need a minute for one file).
    `full_check`: those that restructure loops are also checked with the sizes to be timed.
    """

    compilers: tuple[Compiler, ...]
    budget: float = 8.0
    time_limit: float = 120.0
    build_budget: float = 2.0
    builder: str | None = None
    remember: bool = True
    full_check: bool = True


@dataclass(frozen=True, slots=True)
class Contestant:
    """A text with the compiler and the flags that make a library of it."""

    label: str
    team: Team
    compiler: Compiler
    text: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """What all contestants of one function run: the checked reference, its signature, a small and the timed call."""

    reference: Path
    signature: Signature
    small: CallCase
    full: CallCase
    folder: Path
    include: Path
    rules: Rules


def hold(suite: Suite, file: Path, dataset: str, rules: Rules, tell: Tell) -> Result:
    """Builds the drop-in of a file and races every function of it; `tell` hears what is going on.

    What goes wrong with a contestant leaves that one out; a file that cannot be built becomes a result with an error.
    """
    started, state = time.monotonic(), compiler_state()
    source = read_source(file)
    options = Options(
        sizes=suite.sizes(file, dataset), defines=suite.defines(dataset), include_dirs=(suite.folder,),
        compiler=rules.builder, budget=rules.build_budget,
    )  # fmt: skip
    heats: tuple[Heat, ...] = ()
    error, build_seconds = "", 0.0
    try:
        built = build_file(source, options, lambda stage: tell(f"building: {stage}"))
        build_seconds = time.monotonic() - started
        with tempfile.TemporaryDirectory(prefix="planish-bench-") as folder:
            heats = race_file(suite, file, dataset, built, options, rules, Path(folder), tell)
    except PlanishError as refusal:
        error = refusal.diagnostic.message
    except Exception as bug:
        # One kernel's bug must not cost the others their hour; the record and the exit code tell of it.
        error = f"bug: {type(bug).__name__}: {bug}"
        traceback.print_exception(bug)
    return Result(
        file.stem, dataset, state, digest(source.text), machine_name(),
        tuple(str(c) for c in rules.compilers), time.strftime("%Y-%m-%d %H:%M"), round(build_seconds, 3),
        round(time.monotonic() - started, 1), heats, error or ("" if heats else "no function that can be called"),
    )  # fmt: skip


def race_file(
    suite: Suite, file: Path, dataset: str, built: FileResult, options: Options, rules: Rules, folder: Path, tell: Tell
) -> tuple[Heat, ...]:
    """One heat for each function that can be called from another file and whose arguments are understood."""
    builder = choose_compiler(options.compiler)
    kept = not any(result.replacements for result in built.functions)
    contestants = enlist_originals(built.source.text, options, rules)
    if not kept:
        contestants += enlist_drop_ins(built, options, rules, folder)
    small, full = suite.sizes(file, smaller_dataset(dataset)), suite.sizes(file, dataset)
    heats = []
    for result in built.functions:
        function, signature = result.function, signature_of(result.function)
        if function.static or signature is None:
            continue
        strict = ("-O2", "-ffp-contract=off", *_macros(options))
        reference = Contestant("reference", "compiler", rules.compilers[0], built.source.text, strict)
        library = _compile(reference, signature, folder, suite.folder, rules)
        course = Course(
            library, signature, suite.case(function, small), suite.case(function, full), folder, suite.folder, rules
        )
        times, left_out = race(contestants, course, tell)
        sizes = {name: int(value) for name, value in course.full.values.items()}
        verdict = result.selection.verdict if result.selection is not None else None
        worst = verdict.worst_relative if verdict is not None else 0.0
        done = describe(result)
        heats.append(Heat(function.name, sizes, times, left_out, done, builder.name, kept, worst))
    return tuple(heats)


def enlist_originals(text: str, options: Options, rules: Rules) -> list[Contestant]:
    """The original under every compiler: -O3 for this machine, also with Polly, each with fast math too."""
    target = load_target(options.target)
    out: list[Contestant] = []
    for compiler in rules.compilers:
        native, macros = target.flags_for(compiler.kind), _macros(options)
        out += _both(compiler.name, "compiler", compiler, text, ("-O3", *native, *macros))
        if supports(compiler, "polly"):
            out += _both(f"{compiler.name} polly", "polly", compiler, text, (*FEATURES["polly"], *native, *macros))
    return out


def enlist_drop_ins(built: FileResult, options: Options, rules: Rules, folder: Path) -> list[Contestant]:
    """The drop-in under every compiler with the flags that its banner names."""
    target = load_target(options.target)
    out: list[Contestant] = []
    for compiler in rules.compilers:
        bench = make_workbench(replace(options, compiler=str(compiler.path)), target, folder, built.source)
        out.append(Contestant(f"ours {compiler.name}", "ours", compiler, built.text, bench.command_flags))
    return out


def _both(label: str, team: Team, compiler: Compiler, text: str, flags: tuple[str, ...]) -> list[Contestant]:
    plain = Contestant(label, team, compiler, text, flags)
    return [plain, replace(plain, label=f"{label} fast-math", flags=(*flags, FAST))]


def race(
    contestants: Sequence[Contestant], course: Course, tell: Tell
) -> tuple[tuple[Time, ...], tuple[LeftOut, ...]]:
    """The times of those that compile and compute the same, and the others with the reason."""
    entered: dict[str, Path] = {}
    left_out: list[LeftOut] = []
    for contestant in contestants:
        tell(f"checking {contestant.label}")
        outcome = recall(contestant, course) if contestant.team != "ours" else qualify(contestant, course)
        if isinstance(outcome, Path):
            entered[contestant.label] = outcome
        else:
            left_out.append(_leave(contestant, outcome))
    while entered:
        racing = [c for c in contestants if c.label in entered]
        tell(f"timing {len(racing)} contestants")
        # All came to their end with small sizes, so this bound only catches what nobody foresaw.
        rules = course.rules
        limits = Limits(seconds=60 + 4 * rules.budget + rules.time_limit * len(racing))
        try:
            timings = measure(tuple(entered.items()), course.signature, course.full, rules.budget, 5, 1, limits)
            return tuple(_time(c, t) for c, t in zip(racing, timings, strict=True)), tuple(left_out)
        except ClockError as error:
            # The one that was running when it went wrong; where nobody is to blame, the heat is void.
            culprits = [c for c in racing if c.label == error.label] or racing
            left_out += [_leave(c, error.diagnostic.message) for c in culprits]
            entered = {label: path for label, path in entered.items() if label not in {c.label for c in culprits}}
    return (), tuple(left_out)


def qualify(contestant: Contestant, course: Course) -> Path | str:
    """The library of a contestant that computes what the reference computes, or why it is left out.

    All are called with small sizes. Those that restructure loops are also called with the sizes to be timed; gcc and
    clang alone are spared that, which could only let a wrong rival win.
    """
    try:
        library = _compile(contestant, course.signature, course.folder, course.include, course.rules)
    except PlanishError as error:
        return " ".join(error.diagnostic.message.split())[:300]
    small_only = contestant.team == "compiler" or not course.rules.full_check
    cases = (course.small,) if small_only else (course.small, course.full)
    limits = Limits(seconds=course.rules.time_limit)
    verdict = compare(course.reference, library, course.signature, cases, Tolerance(), limits)
    # Data on which even the reference is unstable cannot convict anyone.
    return library if verdict.status in ("ok", "weak") else f"{verdict.status}: {verdict.message}"


def admit(name: str, contestants: Sequence[Contestant], course: Course) -> dict[str, Path]:
    """The libraries of those that compute the same, by their labels; of the others it prints why they are left out."""
    entered: dict[str, Path] = {}
    for contestant in contestants:
        outcome = qualify(contestant, course)
        if isinstance(outcome, Path):
            entered[contestant.label] = outcome
        else:
            print(f"{name}, {contestant.label}: left out: {outcome}", file=sys.stderr)
    return entered


def recall(contestant: Contestant, course: Course) -> Path | str:
    """`qualify`, or what it said in an earlier run about the same contestant, headers and calls."""
    cache = Cache(RESULTS / "rivals")
    headers = tuple(path.read_text() for path in sorted(course.include.glob("*.h")))
    address = key(
        contestant.text, contestant.flags, contestant.compiler.stamp, course.signature, headers,
        *(tuple(sorted(part.items())) for c in (course.small, course.full) for part in (c.values, c.elements)),
        machine_name(), course.rules.time_limit,
    )  # fmt: skip
    known = cache.get(address) if course.rules.remember else None
    if known is None:
        outcome = qualify(contestant, course)
        cache.put(address, _PASSED + outcome.read_bytes() if isinstance(outcome, Path) else outcome.encode())
        return outcome
    if not known.startswith(_PASSED):
        return known.decode()
    library = course.folder / f"{address[:24]}.so"
    library.write_bytes(known[len(_PASSED) :])
    return library


def describe(result: FunctionResult) -> str:
    """What was done to a function, in a few words."""
    if result.selection is not None and result.selection.version is not None:
        return result.selection.version.label
    reasons = [remark.message for remark in result.remarks if remark.kind == "refused"]
    return f"kept as written: {reasons[-1].removesuffix('; kept as written')}" if reasons else "kept as written"


def _compile(contestant: Contestant, signature: Signature, folder: Path, include: Path, rules: Rules) -> Path:
    text, limits = contestant.text + entry_text(signature), Limits(seconds=rules.time_limit)
    return compile_library(contestant.compiler, text, ("-w", *contestant.flags), folder, limits, (include,))


def _macros(options: Options) -> tuple[str, ...]:
    return tuple(f"-D{macro}" for macro in options.defines)


def _leave(contestant: Contestant, reason: str) -> LeftOut:
    return LeftOut(contestant.label, contestant.team, contestant.compiler.name, reason)


def _time(contestant: Contestant, timing: Timing) -> Time:
    compiler = contestant.compiler.name
    return Time(contestant.label, contestant.team, compiler, timing.median, timing.low, timing.high, timing.rounds)


@lru_cache(maxsize=1)
def compiler_state() -> str:
    """A digest of planish itself, without what set-up prepares of it: what was measured with another one may be
    different today. Tests, documents and these scripts are no part of it: they change nothing that is built."""
    root = Path(planish.__file__).parent
    said = hashlib.sha256()
    for path in sorted(x for x in root.rglob("*") if x.is_file()):
        place = path.relative_to(root)
        if not {"prepared", "__pycache__"} & {*place.parts}:
            said.update(f"{place}\n".encode() + path.read_bytes())
    return said.hexdigest()[:16]


def digest(text: str) -> str:
    """Sixteen digits that stand for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def machine_name() -> str:
    """The processor and the system, for the head of a table."""
    return f"{load_target('native').description}, {platform.system()}"
