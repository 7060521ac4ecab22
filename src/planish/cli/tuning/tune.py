"""`planish tune FILE.c…`: searches for faster schedules of each nest, and keeps every trial in the store.

$ planish tune gemm.c --budget 60s
$ planish tune gemm.c --list
$ planish tune gemm.c --script gemm.sched --budget 100
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from planish.cli.exits import INTERRUPTED, OK, USER_ERROR, guarded, tell, tell_interrupted
from planish.cli.options import (
    Compiler,
    Defines,
    Files,
    Floats,
    Fp,
    Function,
    Includes,
    Sizes,
    Target,
    Threads,
    parse_sizes,
    read_floats,
)
from planish.cli.terminal.progress import show_progress
from planish.cli.tuning.trials import StorePath, open_store
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.core.progress import Progress
from planish.options import Options
from planish.report.tuning import describe_result, describe_space
from planish.schedule.arguments import NestChoice
from planish.tuning.choices import choice_of, merge_choices, print_record
from planish.tuning.farm.elsewhere import Elsewhere, tune_units
from planish.tuning.farm.farm_session import AHEAD, FarmWishes, TuningUnit
from planish.tuning.session import TuningWishes, list_spaces
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.tuner import INTERRUPTED as STOPPED
from planish.tuning.tuner import TuningBudget

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_BUDGET = re.compile(r"(?P<count>\d{1,9}(?:\.\d{1,3})?)(?P<unit>s|m|h|)")


ClusterName = Annotated[
    str,
    typer.Option(
        "--cluster", metavar="ADDRESS|slurm|ssh:FILE|kubernetes",
        help="Build, verify and time on a Dask cluster, as tcp://host:8786.", show_default=False,
    ),
]  # fmt: skip
Jobs = Annotated[
    int, typer.Option("--jobs", min=0, metavar="N", help="Build by N processes while one times.", show_default=False)
]
WorkerCount = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="N", help="--cluster slurm, kubernetes: workers to start.")
]
Ahead = Annotated[
    int, typer.Option("--ahead", min=1, metavar="N", help="--cluster, --jobs: points of a nest under way at a time.")
]


class SearchName(StrEnum):
    """How the space is searched."""

    auto = "auto"
    exhaustive = "exhaustive"
    random = "random"
    evolutionary = "evolutionary"
    model = "model"
    tpe = "tpe"


def parse_budget(text: str) -> TuningBudget:
    """The budget in "60s", "5m", "1h", or "100" trials; raises typer.BadParameter."""
    found = _BUDGET.fullmatch(text)
    if found is None or float(found["count"]) <= 0 or (not found["unit"] and "." in found["count"]):
        raise typer.BadParameter(f"'{text}' is no time (60s, 5m) and no number of trials")
    if not found["unit"]:
        return TuningBudget(trials=int(found["count"]))
    return TuningBudget(seconds=float(found["count"]) * {"s": 1, "m": 60, "h": 3600}[found["unit"]])


def check_budget(text: str) -> str:
    """The text of --budget; raises typer.BadParameter."""
    parse_budget(text)
    return text


@app.command()
@guarded
def tune(
    files: Files,
    budget: Annotated[
        str, typer.Option("--budget", metavar="60s|N", help="A time or trials, for each nest.", callback=check_budget)
    ] = "60s",
    search: Annotated[SearchName, typer.Option("--search", help="How the space is searched.")] = SearchName.auto,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the search's random numbers.")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Go on from the trials in the store, or measure all anew.")
    ] = True,
    spaces: Annotated[bool, typer.Option("--list", help="Print the space of each nest; measure nothing.")] = False,
    script: Annotated[
        str | None,
        typer.Option("--script", metavar="FILE.sched", help="Fill the holes (?8|16) of it.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", metavar="FILE.sched", help="--script: where the best one goes.", show_default=False),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Write what is best, for `build --replay`.", show_default=False),
    ] = None,
    store: StorePath = None,
    cluster: ClusterName = "", jobs: Jobs = 0, workers: WorkerCount = None, ahead: Ahead = AHEAD,
    target: Target = "native", function: Function = None, threads: Threads = 1, fp: Fp = Floats.reassociate,
    raising: Annotated[
        bool, typer.Option("--raise/--no-raise", help="Try calls of the library's own kernels.")
    ] = True,
    size: Sizes = None, define: Defines = None, include: Includes = None, cc: Compiler = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print errors only.")] = False,
) -> int:  # fmt: skip
    """Search for faster schedules of the nests in C files.

    Each trial is verified, timed beside the default, and kept in the store at once; `planish build` then takes the
    best one. After Ctrl-C, or with more budget, the same command goes on.
    """
    options = Options(
        target=target, functions=tuple(function or ()), threads=threads, fp=read_floats(fp), sizes=parse_sizes(size),
        defines=tuple(define or ()), include_dirs=tuple(include or ()), compiler=cc, raising=raising,
    )  # fmt: skip
    holes = None if script is None else read_input(script, "a script").source
    wishes = TuningWishes(parse_budget(budget), search.value, seed, not resume, holes)
    if spaces:
        for name in files:
            for label, space in list_spaces(read_input(name).source, options, holes):
                print("\n".join(describe_space(label, space)))
        return OK
    elsewhere = Elsewhere(cluster, jobs, workers, FarmWishes(ahead))
    return _tune([*dict.fromkeys(files)], options, wishes, open_store(store), output, record, quiet, elsewhere)


def _tune(
    names: list[str], options: Options, wishes: TuningWishes, store: TrialStore, output: Path | None,
    record: Path | None, quiet: bool, elsewhere: Elsewhere,
) -> int:  # fmt: skip
    choices: list[NestChoice] = []
    code = OK
    with hearing(quiet) as progress:
        units = (TuningUnit(read_input(name).source, options) for name in names)
        for found in tune_units(units, wishes, store, elsewhere, progress):
            if isinstance(found, PlanishError):
                tell(found)
                code = USER_ERROR
                continue
            if not quiet:
                print("\n".join(describe_result(found, wishes, store.path)), flush=True)
            if found.refused is not None:
                tell(found.refused)
                code = USER_ERROR
                continue
            assert found.result is not None
            best = found.result.best
            if found.script is not None and best is not None and output is not None:
                _write(output, found.script.fill(best.point))
            elif found.script is None and best is not None:
                choices.append(choice_of(best, found.nest.task))
            if found.result.reason == STOPPED:
                code = INTERRUPTED
    if record is not None:
        _write(record, print_record(merge_choices(choices)))
    return tell_interrupted(0, "all trials so far are in the store") if code == INTERRUPTED else code


@contextmanager
def hearing(quiet: bool) -> Iterator[Progress]:
    """What hears of trials: a line on the terminal that is written over, or in a log one for each ten."""
    if sys.stderr.isatty():
        with show_progress(1, quiet) as bar:
            yield bar.tell
        return
    count = 0

    def say(message: str) -> None:
        nonlocal count
        count += 1
        if not quiet and count % 10 == 0:
            print(message, file=sys.stderr, flush=True)

    yield say


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise PlanishError(Diagnostic("E0902", f"cannot write {path}: {error.strerror or error}")) from error
