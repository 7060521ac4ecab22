"""Tables of trials: the tasks of a store, and a trial in full.

>>> from planish.schedule.arguments import Point
>>> from planish.tuning.trial import TuningTask
>>> task = TuningTask("kernel nest(; )\\n{\\n}\\n", "native", "0f", "gcc 12.2")
>>> ok = TuningTrial("ok", 1.0, 2.0, task=task, point=Point())
>>> describe_score(ok), describe_score(TuningTrial("crash", task=task, point=Point()))
('2.00x', 'crash')
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.table import Table

from planish.report.tables import format_ratio, format_seconds
from planish.tuning.store.trial_store import TaskSummary
from planish.tuning.trial import TuningTrial

SHORT = 12
"""Digits of a digest that are shown: enough to name it."""


def tasks_table(summaries: Sequence[TaskSummary]) -> Table:
    """A row for each task."""
    table = _table("task", "nest", "machine", "compiler", "options", "trials", "failed", "best")
    for x in summaries:
        best = "none" if x.best is None else describe_score(x.best)
        names = (x.task.digest[:SHORT], x.label, x.task.machine, x.task.compiler, x.task.options)
        table.add_row(*map(escape, (*names, str(x.trials), str(x.failed), best)))
    return table


def trials_table(trials: Sequence[TuningTrial]) -> Table:
    """A row for each trial."""
    table = _table("trial", "nest", "machine", "point", "measured", "over the default")
    for x in trials:
        point = x.script.strip() or str(x.point) or "the default"
        names = (x.digest[:SHORT], x.label, x.task.machine, point, describe_value(x), describe_score(x))
        table.add_row(*map(escape, names))
    return table


def describe_value(trial: TuningTrial) -> str:
    """What was measured, with its unit."""
    return "-" if trial.value is None else format_value(trial.value, trial.metric)


def format_value(value: float, metric: str) -> str:
    """A value of a metric, with its unit."""
    return format_seconds(value) if metric == "seconds" else f"{value:g} {metric}"


def describe_score(trial: TuningTrial) -> str:
    """How many times better than the default a trial is, or what became of it."""
    return format_ratio(1 / trial.score) if trial.outcome == "ok" and trial.score else trial.outcome


def describe_trial(trial: TuningTrial) -> Iterator[str]:
    """A trial in full, a line at a time."""
    yield f"trial {trial.digest}"
    yield f"  task      {trial.task.digest}"
    yield f"  nest      {trial.label}"
    yield f"  machine   {trial.task.machine}, fingerprint {trial.task.fingerprint[:SHORT]}"
    yield f"  compiler  {trial.task.compiler}"
    yield f"  options   {trial.task.options}"
    yield f"  point     {trial.point or 'the default'}"
    yield f"  outcome   {trial.outcome}{f': {trial.message}' if trial.message else ''}"
    if trial.value is not None:
        spread = f", {len(trial.samples)} samples" if trial.samples else ""
        yield f"  measured  {describe_value(trial)}{spread}, {describe_score(trial)} over the default"
    yield f"  verified  {trial.calls} calls, worst difference {trial.worst:.1e}"
    yield f"  made      {trial.made} by Planish {trial.version}, {trial.search} search, seed {trial.seed}"
    if trial.script:
        yield "  script"
        yield from (f"    {x}" for x in trial.script.splitlines())
    yield "  text"
    yield from (f"    {x}" for x in trial.task.kernel.splitlines())


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    return table
