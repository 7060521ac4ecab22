"""A trial: one point of one nest's space, what became of it, and all that is needed to make it again.

>>> from planish.schedule.arguments import Point
>>> task = TuningTask("kernel nest() { }", "native", "0f", "gcc 12.2", "--fp reassociate")
>>> trial = TuningTrial("ok", 2.0, 3.0, (2.0, 2.5), task=task, point=Point.of({"rows": 8}))
>>> trial.score < 1, parse_trial(print_trial(trial)) == trial
(True, True)
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from math import inf, isfinite
from typing import Any

from planish.core.cache import key
from planish.schedule.arguments import Point, Value
from planish.tuning.measurement import OUTCOMES, Measurement

FORMAT = 1
"""The number of the format of a line that is exported."""


@dataclass(frozen=True)  # not slotted: its digest is kept
class TuningTask:
    """What is tuned: a nest by its canonical text (`planish.ir.text.canonical_nest`), the machine by the name and the
    fingerprint of its description, the compiler with its version, and the options that change what is right or fast."""

    kernel: str
    machine: str
    fingerprint: str
    compiler: str
    options: str = ""

    @cached_property
    def digest(self) -> str:
        """The address of the task: the same for the same nest on the same machine, wherever it was tuned."""
        return key("task", self.kernel, self.machine, self.fingerprint, self.compiler, self.options)


@dataclass(frozen=True, kw_only=True)  # not slotted, as above
class TuningTrial(Measurement):
    """One point and what became of it. `label`: where the nest stood, for people. The rest says where the trial comes
    from: Planish's `version`, the `search` with its `seed`, the `session`, the trial's `number` in it, the time (UTC).
    """

    task: TuningTask
    point: Point
    label: str = ""
    version: str = ""
    search: str = ""
    seed: int = 0
    session: str = ""
    number: int = 0
    made: str = ""

    @property
    def score(self) -> float:
        """What it takes of what the default takes; infinite where it is not to be used."""
        return self.ratio if self.outcome == "ok" else inf

    @cached_property
    def digest(self) -> str:
        """The address of the trial: the same trial, imported twice, is one."""
        named = [x.name for x in fields(self) if x.name not in ("task", "more")]
        # What is compared by its time alone has the address that it had before there was anything else.
        return key("trial", self.task.digest, *(getattr(self, x) for x in named), *self.more)


def print_trial(trial: TuningTrial) -> str:
    """A trial as one line of JSON."""
    own = {x.name: getattr(trial, x.name) for x in fields(trial) if x.name not in ("task", "point")}
    if not trial.more:
        del own["more"]
    line = {"format": FORMAT, "task": asdict(trial.task), "point": trial.point.as_dict(), **own}
    return json.dumps(line, allow_nan=False, ensure_ascii=False)


def parse_trial(text: str) -> TuningTrial:
    """The trial of a line; ValueError, whose message says what is wrong with it."""
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"this is no JSON: {error}") from error
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
        raise ValueError(f"this is no trial in format {FORMAT}")
    known = {x.name for x in fields(TuningTrial)}
    for name in data:
        if name not in known:
            raise ValueError(f"a trial has no field `{name}`")
    try:
        task = TuningTask(**data.pop("task"))
        point = Point.of(data.pop("point"))
        rows = {"samples": tuple(data.get("samples", ())), "more": tuple(map(tuple, data.get("more", ())))}
        trial = TuningTrial(**{**data, **rows}, task=task, point=point)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"a field is missing, or another one: {error}") from error
    _check(trial)
    return trial


def _check(trial: TuningTrial) -> None:
    """ValueError where a field has a value of another type."""
    task = [(x.name, getattr(trial.task, x.name), str) for x in fields(TuningTask)]
    texts = ("metric", "script", "message", "code", "label", "version", "search", "session", "made")
    numbers = [(f"samples of {trial.value}", x, float) for x in trial.samples]
    numbers += [(name, x, float) for name in ("value", "reference") if (x := getattr(trial, name)) is not None]
    wanted: list[tuple[str, Any, type]] = [*task, *((x, getattr(trial, x), str) for x in texts), *numbers]
    for row in trial.more:
        if len(row) != 3:
            raise ValueError(f"`more` has a metric, a value and the default's, not {row!r}")
        wanted += [("metric", row[0], str), *((f"{row[0]}", x, float) for x in row[1:])]
    wanted += [
        ("worst", trial.worst, float),
        ("calls", trial.calls, int),
        ("seed", trial.seed, int),
        ("number", trial.number, int),
    ]
    for name, value, kind in wanted:
        fits = isinstance(value, int | float) and isfinite(value) if kind is float else isinstance(value, kind)
        if not fits or isinstance(value, bool):
            raise ValueError(f"`{name}` is to be {'a number' if kind in (int, float) else 'a text'}, not {value!r}")
    if trial.outcome not in OUTCOMES:
        raise ValueError(f"`outcome` is one of {', '.join(OUTCOMES)}, not {trial.outcome!r}")
    for name, given in trial.point.values:
        if not isinstance(given, Value) or isinstance(given, bool):
            raise ValueError(f"`{name}` of the point is to be a whole number or a text, not {given!r}")
