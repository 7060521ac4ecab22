"""Trials that came at the same moment are committed at once: a commit waits for the disk, whatever is in it.

>>> import tempfile
>>> from pathlib import Path
>>> batch = TrialBatch(TrialStore(Path(tempfile.mkdtemp()) / "s"))
>>> batch.flush()
0
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from planish.schedule.arguments import Point
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.trial import TuningTask, TuningTrial


@dataclass(slots=True)
class TrialBatch:
    """A store in which trials are kept by `flush`; whoever asks for trials flushes first."""

    store: TrialStore
    waiting: list[TuningTrial] = field(default_factory=list)

    def add(self, trial: TuningTrial) -> bool:
        """Takes a trial, which is on the disk after `flush`."""
        self.waiting.append(trial)
        return True

    def flush(self) -> int:
        """Commits what waits, all or none; how many are new. PlanishError as of `TrialStore`, and they wait on."""
        if not self.waiting:
            return 0
        added = self.store.add_all(self.waiting)
        self.waiting.clear()
        return added

    def trials(self, task: TuningTask | None = None) -> Iterator[TuningTrial]:
        """As of `TrialStore`."""
        self.flush()
        return self.store.trials(task)

    def best(self, task: TuningTask) -> TuningTrial | None:
        """As of `TrialStore`."""
        self.flush()
        return self.store.best(task)

    def count(self, task: TuningTask, point: Point) -> int:
        """As of `TrialStore`."""
        self.flush()
        return self.store.count(task, point)
