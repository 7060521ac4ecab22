"""Races our AST generation against isl's on isl's own inputs: what the nests execute, their text, and generation time.

    python -m bench.codegen.astgen                      # all inputs, a few minutes; stores bench/results/astgen.json
    python -m bench.codegen.astgen --inputs DIR         # the inputs in another folder
    python -m bench.codegen.astgen --only lu.in,hoist   # those whose name contains one of these; stores nothing
    python -m bench.codegen.astgen --report             # prints what is stored

The inputs are those of `scripts/fetch_isl_tests.sh`. Both nests are run for the same parameter values, and every run of
either is compared with the schedule's instances in their order.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import pickle
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import planish
from bench.codegen.astgen_cases import SHRUNK, WANTED, choose_sizes, find_inputs, name_inputs, shrink_constants
from bench.harness.places import RESULTS
from bench.harness.record import geometric_mean
from planish.astgen.checking.verify import compare_traces
from planish.astgen.code_size.effort import EffortLimitError, compile_nest, count_copies, count_lines
from planish.astgen.code_size.isl_codegen import rival_nest, run_isl
from planish.astgen.formats import CodegenInput, generate_input, list_input, load_input, parse_input
from planish.core.diagnostic import PlanishError
from planish.ir.nest import Block

STORE = RESULTS / "astgen.json"
SECONDS = 5
"""An answer that takes longer counts as none."""
JUDGE_SECONDS = 60
PATIENCE = 4
MOST_STEPS_JUDGED, FOREVER = 4_000_000, 1 << 60
ROUNDS = 3
SILENT = "no answer"
WARM = parse_input(
    "[n] -> { S[i, j] -> [i, j] : 0 <= i < n and 0 <= j < i and (i + j) mod 3 = 0; T[i] -> [i, 9] : 0 <= i < n; "
    "U[i] -> [i, i] : 5 <= i < 2n } [n] -> { : n > 3 } { [i, j] -> separate[1] }",
    "warm.in",
)
"""An input of no one's that both generate before a clock runs."""
WARM_CALLS = 5
NOTHING = "fetch the inputs with scripts/fetch_isl_tests.sh, or name their folder with --inputs"


@dataclass(frozen=True, slots=True)
class Side:
    """What one contestant did with an input, for all parameter values; `failure` and `wrong` are "" if all is well.

    `control` is what the text says: ours computes the end of a loop when it is entered, isl's in the loop's condition.
    `entries` is the same for a compiler that moves the latter out of the loop.
    """

    failure: str = ""
    wrong: str = ""
    guards: int = 0
    control: int = 0
    entries: int = 0
    lines: int = 0
    copies: int = 0
    seconds: float = 0.0

    @property
    def overhead(self) -> int:
        """Comparisons and loop steps executed."""
        return self.guards + self.control


@dataclass(frozen=True, slots=True)
class Row:
    """One input: the parameter values with which both nests ran, and what came of it."""

    name: str
    sizes: tuple[dict[str, int], ...]
    instances: int
    ours: Side
    isl: Side
    note: str = ""

    @property
    def refused(self) -> bool:
        """The instances have no end: isl's loop has no bound, and we say so."""
        return "no bound" in self.ours.failure and "no upper bound" in self.isl.failure

    @property
    def verified(self) -> bool:
        """Our nest ran for every choice of parameters and was right, or was refused rightly."""
        return self.refused or bool(self.sizes and not self.ours.failure and not self.ours.wrong)

    @property
    def compared(self) -> bool:
        """Both answered, and there was something to run."""
        return not self.ours.failure and not self.isl.failure and self.instances > 0

    @property
    def overhead(self) -> float:
        """Comparisons and loop steps of ours over isl's."""
        return _ratio(self.ours.overhead, self.isl.overhead)

    @property
    def hoisted(self) -> float:
        """The same where isl's bounds, too, are computed once an entry."""
        return _ratio(self.ours.guards + self.ours.entries, self.isl.guards + self.isl.entries)

    @property
    def seconds(self) -> float:
        """Generation time of ours over isl's."""
        return self.ours.seconds / self.isl.seconds


def _ratio(a: int, b: int) -> float:
    # Where one of them executes nothing, one more on both sides keeps the ratio finite.
    return a / b if a and b else (a + 1) / (b + 1)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a child process found, or why it found nothing."""

    value: Any = None
    failure: str = ""


def in_child(task: Callable[[], Any], seconds: int) -> Answer:
    """A task run in a process of its own, which may fail, crash or take too long."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(task, seconds, writer)
    os.close(writer)
    with open(reader, "rb") as pipe:
        data = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 0:
        answer: Answer = pickle.loads(data)
        return answer
    failure = f"{SILENT} in {seconds} s" if status == -signal.SIGALRM else f"the process ended with {status}"
    return Answer(failure=failure)


def _answer(task: Callable[[], Any], seconds: int, writer: int) -> None:
    """The child's part: no handler of Python runs inside a call of isl, so that the signal itself ends the process."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # On a busy machine a second is shared; a timer of the processor's time would spoil the clock that is read here.
    signal.alarm(PATIENCE * seconds)
    try:
        answer = Answer(task())
    except PlanishError as error:
        answer = Answer(failure=error.diagnostic.message)
    except Exception as error:  # whatever goes wrong in a contestant is its result
        answer = Answer(failure=f"{type(error).__name__}: {str(error)[:300]}")
    with open(writer, "wb") as pipe:
        pickle.dump(answer, pipe)
    os._exit(0)


def time_ours(found: CodegenInput) -> float:
    """Seconds to generate our nest."""
    return _clock(generate_input, found)


def time_isl(found: CodegenInput) -> float:
    """Seconds of isl's own call."""
    return _clock(run_isl, found)


def _clock(generate: Callable[[CodegenInput], object], found: CodegenInput) -> float:
    # Another input first: a new process has yet to touch its memory, which costs Python more than the work itself.
    for _ in range(WARM_CALLS):
        generate(WARM)
    gc.collect()
    task = partial(generate, found)
    # Time of the processor, so that what else runs on the machine does not count.
    started = time.process_time()
    task()
    return time.process_time() - started


def time_both(found: CodegenInput, rounds: int) -> tuple[Answer, Answer]:
    """The median seconds of both, in turns; each time in a fresh process, where nothing of the input is known."""
    times: dict[Callable[[CodegenInput], float], list[float]] = {time_ours: [], time_isl: []}
    failures: dict[Callable[[CodegenInput], float], str] = {}
    for number in range(rounds):
        for clock in (time_ours, time_isl) if number % 2 else (time_isl, time_ours):
            if clock not in failures:
                answer = in_child(lambda clock=clock: clock(found), SECONDS)  # type: ignore[misc]
                if answer.failure:
                    failures[clock] = answer.failure
                else:
                    times[clock].append(answer.value)
    ours, theirs = (
        Answer(failure=failures[c]) if c in failures else Answer(statistics.median(times[c]))
        for c in (time_ours, time_isl)
    )
    return ours, theirs


@dataclass(frozen=True, slots=True)
class Judged:
    """What both nests did with the same parameter values; None for a nest that is not there."""

    sizes: tuple[dict[str, int], ...]
    instances: int
    ours: Side | None
    isl: Side | None


def judge(found: CodegenInput, ours: Block | None, theirs: Block | None, wanted: int) -> Judged:
    """Runs both nests and compares each with the schedule; the first that is there says which sizes are affordable."""
    guide = theirs if theirs is not None else ours
    if guide is None:
        return Judged((), 0, None, None)
    runs = list(choose_sizes(found, guide, wanted))
    listed = [list_input(found, sizes) for sizes, _ in runs]
    sides: list[Side | None] = []
    for nest, at_each_test in ((ours, False), (theirs, True)):
        if nest is None:
            sides.append(None)
            continue
        execute, literal = compile_nest(nest), compile_nest(nest, at_each_test)
        guards, control, entries, wrong = 0, 0, 0, ""
        for (sizes, _), expected in zip(runs, listed, strict=True):
            try:
                run = execute(sizes, MOST_STEPS_JUDGED)
            except EffortLimitError:
                wrong = wrong or f"{sizes}: more than {MOST_STEPS_JUDGED} loop steps"
                continue
            guards += run.effort.guards
            entries += run.effort.control
            control += literal(sizes, FOREVER).effort.control if at_each_test else run.effort.control
            fault = compare_traces(run.trace, expected)
            if fault and has_set(found) and sorted(run.trace) == sorted(x for _, x in expected):
                continue  # the children of a set node may run in any order, not only in that of the text
            wrong = wrong or (f"{sizes}: {fault}" if fault else "")
        sides.append(Side("", wrong, guards, control, entries))
    return Judged(tuple(x for x, _ in runs), sum(map(len, listed)), sides[0], sides[1])


def has_set(found: CodegenInput) -> bool:
    """Whether the input is a tree with a node whose children have no order."""
    return found.kind == "tree" and "set:" in found.source.text


def examine(path: Path, name: str, wanted: int = WANTED, rounds: int = ROUNDS) -> Row:
    """One input, both contestants; where every run is too long, runs with smaller constants stand for it."""
    found = load_input(str(path))
    seconds = time_both(found, rounds)
    nests = generate_both(found)
    failures = [nest.failure or clock.failure for nest, clock in zip(nests, seconds, strict=True)]
    judged, note = judge_apart(found, nests, wanted), ""
    for most, gap in SHRUNK:
        if judged.failure or judged.value.sizes or failures[0]:
            break
        small = parse_input(shrink_constants(found.source.text, most, gap), str(path))
        again = judge_apart(small, generate_both(small), wanted)
        if not again.failure and again.value.instances and again.value.ours is not None:
            judged, note = again, f"run with the constants above {most} made smaller"
    note = f"not verified: {judged.failure}" if judged.failure else note
    result: Judged = judged.value or Judged((), 0, None, None)
    sides: list[Side] = []
    for side, nest, failure, clock in zip((result.ours, result.isl), nests, failures, seconds, strict=True):
        text = {} if nest.value is None else {"lines": count_lines(nest.value), "copies": count_copies(nest.value)}
        sides.append(replace(side or Side(), failure=failure, seconds=clock.value or 0.0, **text))
    return Row(name, result.sizes, result.instances, sides[0], sides[1], note)


def generate_both(found: CodegenInput) -> tuple[Answer, Answer]:
    """Our nest and isl's."""
    return in_child(lambda: generate_input(found), SECONDS), in_child(lambda: rival_nest(found), SECONDS)


def judge_apart(found: CodegenInput, nests: tuple[Answer, Answer], wanted: int) -> Answer:
    """`judge` in a process of its own."""
    return in_child(lambda: judge(found, nests[0].value, nests[1].value, wanted), JUDGE_SECONDS)


def tell(line: str) -> None:
    """Print at once, also into a file."""
    print(line, flush=True)


def race(
    paths: Sequence[Path], wanted: int = WANTED, rounds: int = ROUNDS, show: Callable[[str], None] = tell
) -> list[Row]:
    """All inputs, one after the other."""
    warm_up()
    names = name_inputs(paths)
    out: list[Row] = []
    for path, name in zip(paths, names, strict=True):
        out.append(examine(path, name, wanted, rounds))
        show(describe(out[-1]))
    return out


def warm_up() -> None:
    """So that the first input does not pay for what Python does once."""
    judge(WARM, generate_input(WARM), rival_nest(WARM), 1)
    gc.collect()
    gc.freeze()


def describe(row: Row) -> str:
    """A row as a line of the table."""
    ours, isl = row.ours, row.isl
    problems = [
        f"{who} {what}: {text}"
        for who, side in (("ours", ours), ("isl", isl))
        for what, text in (("fails", side.failure), ("wrong", side.wrong))
        if text
    ]
    problems += [row.note] if row.note else []
    return (
        f"{row.name:34} {len(row.sizes):2} {row.instances:6}  {ours.overhead:7} {isl.overhead:7} {row.overhead:6.2f}  "
        f"{ours.guards:7} {isl.guards:7}  {ours.lines:5} {isl.lines:5}  {ours.copies:4} {isl.copies:4}  "
        f"{ours.seconds * 1e3:8.1f} {isl.seconds * 1e3:8.1f}  {'; '.join(problems)[:160]}"
    ).rstrip()


HEAD = (
    f"{'input':34} {'n':>2} {'ran':>6}  {'ours':>7} {'isl':>7} {'ratio':>6}  {'guards':>7} {'isl':>7}  "
    f"{'lines':>5} {'isl':>5}  {'cop.':>4} {'isl':>4}  {'ms':>8} {'isl':>8}"
)


def report(rows: Sequence[Row], length: int = 25) -> Iterator[str]:
    """The best and the worst inputs, what failed, and the totals."""
    compared = sorted((row for row in rows if row.compared), key=lambda row: row.overhead)
    yield HEAD
    for title, part in (("best", compared[:length]), ("worst", compared[-length:])):
        yield f"-- {title} by guards + control"
        yield from map(describe, part)
    for title, select in PROBLEMS.items():
        part = [row for row in rows if select(row)]
        yield f"-- {title}: {len(part)}"
        yield from map(describe, part)
    yield "-- totals"
    yield from total(rows, compared)


PROBLEMS: dict[str, Callable[[Row], object]] = {
    "ours fails": lambda row: row.ours.failure,
    "ours is wrong": lambda row: row.ours.wrong,
    "isl fails": lambda row: row.isl.failure,
    "isl is wrong": lambda row: row.isl.wrong,
    "nothing was run": lambda row: not row.instances,
    "run for few values": lambda row: row.sizes and row.sizes[0] and len(row.sizes) < WANTED,
    "more copies than isl": lambda row: row.compared and row.ours.copies > row.isl.copies,
    "slowest generation": lambda row: row.ours.seconds > SLOW,
}
SLOW = 1.0


def total(rows: Sequence[Row], compared: Sequence[Row]) -> Iterator[str]:
    """Sums and means over the inputs that both generate."""
    sizes = [len(row.sizes) for row in rows]
    yield f"inputs {len(rows)}, compared {len(compared)}, runs {sum(sizes)}, instances {sum(x.instances for x in rows)}"
    for name in ("guards", "control", "overhead", "lines", "copies", "seconds"):
        ours, theirs = (sum(getattr(side(row), name) for row in compared) for side in (get_ours, get_isl))
        yield f"{name:9} ours {ours:12.6g}  isl {theirs:12.6g}"
    if compared:
        yield f"overhead: geometric mean {geometric_mean([row.overhead for row in compared]):.3f}"
        yield f"with bounds once an entry: geometric mean {geometric_mean([row.hoisted for row in compared]):.3f}"
        yield f"generation: geometric mean {geometric_mean([row.seconds for row in compared]):.3f}"
        yield f"worse than isl: {sum(row.overhead > 1 for row in compared)}"


def get_ours(row: Row) -> Side:
    """Our side of a row."""
    return row.ours


def get_isl(row: Row) -> Side:
    """isl's side of a row."""
    return row.isl


def store(rows: Sequence[Row]) -> None:
    """Keep the rows as JSON, a line each, with what they were measured with."""
    head = f'{{"islpy": "{version("islpy")}", "state": "{generator_state()}", "rows": ['
    STORE.parent.mkdir(parents=True, exist_ok=True)
    STORE.write_text(head + "\n" + ",\n".join(json.dumps(asdict(row)) for row in rows) + "\n]}\n", encoding="utf-8")


def stored() -> list[Row]:
    """The rows that were stored last; empty where there are none."""
    if not STORE.exists():
        return []
    return [
        Row(**{**x, "sizes": tuple(x["sizes"]), "ours": Side(**x["ours"]), "isl": Side(**x["isl"])})
        for x in json.loads(STORE.read_text(encoding="utf-8"))["rows"]
    ]


def generator_state() -> str:
    """A digest of what generates: rows that were measured with another one may be different today."""
    root = Path(planish.__file__).parent
    files = sorted(path for part in ("astgen", "poly", "ir") for path in (root / part).glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def is_stale() -> bool:
    """Whether the stored rows were measured with another state of planish."""
    return bool(json.loads(STORE.read_text(encoding="utf-8"))["state"] != generator_state())


def main(arguments: Sequence[str]) -> int:
    """0 where all inputs were raced, 2 where there are none."""
    parser = argparse.ArgumentParser(description="Races AST generation against isl's.")
    parser.add_argument("--inputs", type=Path, metavar="DIR", help="the folder with .st and .in files")
    parser.add_argument("--only", default="", metavar="A,B", help="inputs whose name contains one of these")
    parser.add_argument("--report", action="store_true", help="print what is stored and race nothing")
    asked = parser.parse_args(arguments)
    if asked.report:
        print("\n".join(report(stored())))
        return 0
    paths = [x for x in find_inputs(asked.inputs) if any(part in str(x) for part in asked.only.split(","))]
    if not paths:
        print(f"skipped: there are no inputs; {NOTHING}", file=sys.stderr)
        return 2
    print(HEAD)
    rows = race(paths)
    if not asked.only:
        store(rows)
    print("\n".join(report(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
