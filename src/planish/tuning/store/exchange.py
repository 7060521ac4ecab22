"""Trials as lines of JSON, and stores merged: what is imported twice is there once.

>>> import tempfile
>>> from pathlib import Path
>>> from planish.schedule.arguments import Point
>>> from planish.tuning.trial import TuningTask
>>> folder = Path(tempfile.mkdtemp())
>>> task = TuningTask("kernel nest() { }", "native", "0f", "gcc 12.2")
>>> _ = TrialStore(folder / "a").add(TuningTrial("ok", 1.0, 2.0, task=task, point=Point.of({"rows": 8})))
>>> lines = "".join(export_lines(TrialStore(folder / "a")))
>>> import_lines(TrialStore(folder / "b"), Source("a.jsonl", lines))
(1, 0)
>>> merge(TrialStore(folder / "b"), TrialStore(folder / "a"))
(0, 1)
"""

from __future__ import annotations

from collections.abc import Iterator

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.trial import TuningTrial, parse_trial, print_trial


def export_lines(store: TrialStore, prefix: str = "") -> Iterator[str]:
    """A line for each trial, all or those whose digest, or whose task's, begins with `prefix`."""
    for trial in store.find(prefix) if prefix else store.trials():
        yield f"{print_trial(trial)}\n"


def import_lines(store: TrialStore, source: Source) -> tuple[int, int]:
    """Adds the trials of a file, all or none: how many are new, and how many were there. PlanishError E0923 at the line
    that is none, and as of the store."""
    trials = _read(source)
    new = store.add_all(trials)
    return new, len(trials) - new


def merge(store: TrialStore, other: TrialStore) -> tuple[int, int]:
    """Adds the trials of another store, all or none: how many are new, and how many were there. PlanishError E0101
    where there is no such file, and as of the stores."""
    if not other.path.exists():
        raise PlanishError(Diagnostic("E0101", f"there is no file {other.path}"))
    trials = [*other.trials()]
    new = store.add_all(trials)
    return new, len(trials) - new


def _read(source: Source) -> list[TuningTrial]:
    trials = []
    # Not `splitlines`: a text in JSON may hold other characters that break lines.
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            try:
                trials.append(parse_trial(line))
            except ValueError as error:
                span = source.point(number, 1, max(1, len(line)))
                raise PlanishError(Diagnostic("E0923", f"a line is no trial: {error}", span), source) from error
    return trials
