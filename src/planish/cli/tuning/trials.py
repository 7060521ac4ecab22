"""`planish trials list|best|show|export|import|merge|prune`: the trials of tuning that are kept.

$ planish trials best
$ planish trials export -o trials.jsonl
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from planish.cli.exits import OK, guarded
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.report.console import make_console
from planish.report.trials import describe_trial, tasks_table, trials_table
from planish.tuning.store.exchange import export_lines, import_lines, merge
from planish.tuning.store.trial_store import TrialStore, default_store
from planish.tuning.trial import TuningTrial, print_trial

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, no_args_is_help=True)

StorePath = Annotated[
    Path | None,
    typer.Option("--store", metavar="FILE", help="The trial store.", show_default="the user's"),
]
Prefix = Annotated[str, typer.Option("--task", metavar="DIGITS", help="Only the task whose digest begins with these.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print lines of JSON, one a trial.")]


def open_store(path: Path | None) -> TrialStore:
    """The store of that name, or the user's."""
    return TrialStore(path or default_store())


@app.callback()
def trials() -> None:
    """List, show, export, import and prune the trials of tuning."""


@app.command("list")
@guarded
def list_trials(task: Prefix = "", json: AsJson = False, store: StorePath = None) -> int:
    """List the tasks (nests on machines) with the number of their trials, or all trials of one task."""
    found = open_store(store)
    if not task and not json:
        make_console(sys.stdout).print(tasks_table(found.summaries()))
        return OK
    return _print(_find(found, task) if task else [*found.trials()], json)


@app.command()
@guarded
def best(task: Prefix = "", json: AsJson = False, store: StorePath = None) -> int:
    """Print the best trial of each task."""
    found = [x.best for x in open_store(store).summaries() if x.best is not None and x.task.digest.startswith(task)]
    return _print(found, json)


@app.command()
@guarded
def show(
    digits: Annotated[str, typer.Argument(metavar="DIGITS", help="Of a trial, or of a task: its best trial.")],
    json: AsJson = False, store: StorePath = None,
) -> int:  # fmt: skip
    """Print a trial in full."""
    found = _find(open_store(store), digits)
    named = [x for x in found if x.digest.startswith(digits)] or found[:1]
    if json:
        return _print(named, json)
    for trial in named:
        print("\n".join(describe_trial(trial)))
    return OK


@app.command("export")
@guarded
def export_trials(
    output: Annotated[Path | None, typer.Option("-o", metavar="FILE", help="Where to.", show_default="stdout")] = None,
    task: Prefix = "", store: StorePath = None,
) -> int:  # fmt: skip
    """Write trials as lines of JSON."""
    lines = export_lines(open_store(store), task)
    if output is None:
        sys.stdout.writelines(lines)
        return OK
    try:
        with output.open("w", encoding="utf-8") as file:
            file.writelines(lines)
    except OSError as error:
        message = f"cannot write {output}: {error.strerror or error}"
        raise PlanishError(Diagnostic("E0902", message, help="check the path and its permissions")) from error
    return OK


@app.command("import")
@guarded
def import_trials(
    files: Annotated[list[str], typer.Argument(metavar="FILE.jsonl", help="Files of exported trials.")],
    store: StorePath = None,
) -> int:  # fmt: skip
    """Add exported trials: those of each file all or none, and none twice."""
    for name in files:
        _tell_added(name, import_lines(open_store(store), read_input(name, "a file of exported trials").source))
    return OK


@app.command("merge")
@guarded
def merge_stores(
    files: Annotated[list[Path], typer.Argument(metavar="STORE", help="Stores, as of other machines.")],
    store: StorePath = None,
) -> int:  # fmt: skip
    """Add the trials of other stores."""
    for path in files:
        _tell_added(str(path), merge(open_store(store), TrialStore(path)))
    return OK


@app.command()
@guarded
def prune(
    keep: Annotated[int | None, typer.Option(min=0, metavar="N", help="Keep the best N of each task.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Drop what failed.")] = False,
    older: Annotated[float | None, typer.Option(min=0, metavar="DAYS", help="Drop what is older.")] = None,
    task: Annotated[str, typer.Option("--task", metavar="DIGITS", help="Drop this task.")] = "",
    store: StorePath = None,
) -> int:  # fmt: skip
    """Drop trials: what any of the options names."""
    if keep is None and not failed and older is None and not task:
        raise PlanishError(Diagnostic("E0925", "nothing says which trials are to go"))
    before = "" if older is None else (datetime.now(UTC) - timedelta(days=older)).isoformat(timespec="seconds")
    found = open_store(store)
    gone = found.prune(keep, failed=failed, before=before, task=task)
    print(f"{found.path}: {_count(gone)} dropped")
    return OK


def _find(store: TrialStore, digits: str) -> tuple[TuningTrial, ...]:
    """The trials that some digits name; PlanishError E0924 where there are none."""
    found = store.find(digits) if digits.strip("%_") else ()
    if not found:
        raise PlanishError(Diagnostic("E0924", f"no trial and no task in {store.path} begins with `{digits}`"))
    return found


def _print(found: Sequence[TuningTrial], json: bool) -> int:
    if json:
        sys.stdout.writelines(f"{print_trial(x)}\n" for x in found)
    else:
        make_console(sys.stdout).print(trials_table(found))
    return OK


def _tell_added(name: str, counts: tuple[int, int]) -> None:
    new, known = counts
    print(f"{name}: {_count(new)} added{f', {known} were there' if known else ''}")


def _count(number: int) -> str:
    return f"{number} trial{'' if number == 1 else 's'}"
