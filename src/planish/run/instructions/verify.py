"""Runs instructions beside their definitions, many at a time, and says of each whether the two agree.

    outcomes = verify(entries, machine, rows=64)

A program is compiled for some hundred trials and run in a process with limits. What the compiler does not know is left
out; what crashes is a result, and the trials behind it go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from planish.isa.entry import Entry
from planish.isa.semantics.evaluate import Bytes, Given, LaneOutcome, Memory, evaluate
from planish.run.instructions.compile import Machine, compile_trials
from planish.run.instructions.judge import differing
from planish.run.instructions.limits import at_most
from planish.run.instructions.program import Trial
from planish.run.instructions.trials import make_trials, reached
from planish.run.instructions.vectors import make_inputs
from planish.run.processes.process import Limits, run_process

_BATCH = 400
_LIMITS = Limits(seconds=120)
NOT_EVALUATED = "not evaluated"
_SECONDS = 30.0
"""How long one step of a trial's evaluation may take."""


@dataclass(slots=True)
class InstructionVerdict:
    """What came of an instruction: on how many inputs it ran, with how many of the values that its immediates may have,
    and what went wrong, if anything did. `kind` says how it ended, `unknown` what a compiler said of values that it
    does not take, `silent` of how many bits of the result the definition says nothing."""

    name: str
    kind: str = "verified"
    rows: int = 0
    values: int = 0
    possible: int = 1
    message: str = ""
    unknown: str = ""
    silent: int = 0

    def fail(self, kind: str, message: str) -> None:
        """Something went wrong; the first time counts."""
        if self.kind == "verified":
            self.kind, self.message = kind, message


@contextmanager
def _judged(verdict: InstructionVerdict) -> Iterator[None]:
    """What a stranger's definition does to those that work with it is a verdict on it, and on no other."""
    try:
        with at_most(_SECONDS):
            yield
    except Exception as error:
        verdict.fail(NOT_EVALUATED, f"{type(error).__name__}: {error}"[:200])


@dataclass(slots=True)
class _Prepared:
    trial: Trial
    given: dict[str, Given] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Left:
    """What a trial left behind, a row for each input."""

    result: Bytes
    memory: Mapping[str, Bytes]


def verify(
    entries: Sequence[Entry], machine: Machine, rows: int = 64, tell: Callable[[str], None] = lambda _: None
) -> dict[str, InstructionVerdict]:
    """A verdict for each entry, by its name."""
    verdicts = {x.name: InstructionVerdict(x.name) for x in entries}
    prepared: list[_Prepared] = []
    for entry in entries:
        with _judged(verdicts[entry.name]):
            trials, possible = make_trials(entry)
            verdicts[entry.name].possible = possible
            prepared += [_Prepared(x) for x in trials]
    for at in range(0, len(prepared), _BATCH):
        batch = prepared[at : at + _BATCH]
        tell(batch[0].trial.entry.name)
        _verify_batch(batch, machine, rows, verdicts)
    for verdict in verdicts.values():
        if not verdict.values:
            verdict.fail("not compiled", verdict.unknown)
    return verdicts


def _verify_batch(batch: list[_Prepared], machine: Machine, rows: int, verdicts: dict[str, InstructionVerdict]) -> None:
    with TemporaryDirectory(prefix="planish-isa-") as name:
        folder = Path(name)
        for x in batch:
            entry = x.trial.entry
            with _judged(verdicts[entry.name]):
                x.given = make_inputs(entry.definition, entry.name, rows, reached(entry.definition))
        batch = [x for x in batch if verdicts[x.trial.entry.name].kind != NOT_EVALUATED]
        program, unknown = compile_trials([x.trial for x in batch], machine, folder)
        for number, message in unknown.items():
            verdicts[batch[number].trial.entry.name].unknown = message
        left = [x for number, x in enumerate(batch) if number not in unknown]
        if not left:
            return
        outputs, crashed = _run(left, machine, rows, folder, program)
        for number, x in enumerate(left):
            verdict = verdicts[x.trial.entry.name]
            if number in crashed:
                verdict.fail("crashed", crashed[number])
            elif verdict.kind == "verified":
                with _judged(verdict):
                    _judge(x, outputs.get(number), rows, verdict)
            x.given = {}


def _run(
    left: list[_Prepared], machine: Machine, rows: int, folder: Path, program: Path
) -> tuple[dict[int, _Left], dict[int, str]]:
    """What each trial left, and which crashed."""
    inputs = folder / "inputs"
    inputs.write_bytes(b"".join(_packed(x) for x in left))
    crashed: dict[int, str] = {}
    outputs: dict[int, _Left] = {}
    first = 0
    while first < len(left):
        out, told = folder / "outputs", folder / "told"
        command = [*machine.command, str(program), str(inputs), str(out), str(told), str(first), str(rows)]
        finished = run_process(command, _LIMITS, directory=folder)
        ended = told.read_text().split() if told.exists() else []
        reached_trial = int(ended[0]) if ended else first
        data = np.fromfile(out, np.uint8) if out.exists() else np.zeros(0, np.uint8)
        for number, part in _parted(left, rows, data):
            if first <= number < reached_trial:
                outputs[number] = part
        if finished.code == 0 and reached_trial >= len(left):
            break
        late, signalled = finished.status == "timeout", finished.code < 0
        ended_by = f"signal {-finished.code}" if signalled else f"it ended the program with code {finished.code}"
        crashed[reached_trial] = "it did not end" if late else ended_by
        first = reached_trial + 1
    return outputs, crashed


def _packed(x: _Prepared) -> bytes:
    parts = [data.bytes if isinstance(data, Memory) else data for data in x.given.values()]
    return np.concatenate(parts, axis=1).tobytes() if parts else b""


def _parted(left: list[_Prepared], rows: int, data: Bytes) -> Iterator[tuple[int, _Left]]:
    at = 0
    for number, x in enumerate(left):
        result = x.trial.result_bytes
        memories = {name: size for name, size in x.trial.sizes.items() if name in x.trial.starts}
        size = result + sum(memories.values())
        part = data[at : at + rows * size]
        at += rows * size
        if len(part) < rows * size:
            return
        table = part.reshape(rows, size)
        found: dict[str, Bytes] = {}
        place = result
        for name, width in memories.items():
            found[name] = table[:, place : place + width]
            place += width
        yield number, _Left(table[:, :result], found)


def _judge(x: _Prepared, left: _Left | None, rows: int, verdict: InstructionVerdict) -> None:
    definition = x.trial.entry.definition
    given: dict[str, Given] = dict(x.given)
    for name, value in x.trial.immediates.items():
        given[name] = np.full((rows, 1), value & 0xFF, np.uint8)
    if not given:
        given[""] = np.zeros((rows, 1), np.uint8)
    if left is None:
        verdict.fail("crashed", "it left nothing")
        return
    expected = evaluate(definition, given)
    wrong = np.flatnonzero(differing(definition, expected, left.result, left.memory, given))
    silent = int(np.unpackbits(~expected.defined).sum()) // max(rows, 1)
    verdict.silent = max(verdict.silent, silent)
    verdict.rows += rows
    verdict.values += 1
    if len(wrong):
        verdict.fail("differs", _shown(given, expected, left, int(wrong[0])))


def _shown(given: Mapping[str, Given], expected: LaneOutcome, left: _Left, row: int) -> str:
    """The first row that differs, as a person reads numbers: the highest byte first."""

    def number(data: Bytes) -> str:
        return bytes(data[row][::-1]).hex()

    parts = [f"{name}={number(x.bytes if isinstance(x, Memory) else x)}" for name, x in given.items()]
    told = [f"got {number(left.result)}, not {number(expected.result)}"] if left.result.shape[1] else []
    for name, data in left.memory.items():
        if (data[row] != expected.memory[name][row]).any():
            told.append(f"{name} became {number(data)}, not {number(expected.memory[name])}")
    return f"{', '.join(parts)}: {'; '.join(told)}"
