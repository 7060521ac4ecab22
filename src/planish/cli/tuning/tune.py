"""`planish tune FILE.c…`: searches for faster schedules of each nest, and keeps every trial in the store.

$ planish tune gemm.c --budget 60s
$ planish tune gemm.c --list
$ planish tune gemm.c --feedback time,size
$ planish tune src/ --budget 10m --profile perf.txt
$ planish tune gemm.c --script gemm.sched --budget 100
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from planish.build.project import NOTHING, OUTPUT, IdleFiles, ProjectFile, list_files
from planish.cli.exits import INTERRUPTED, OK, USER_ERROR, guarded, tell, tell_interrupted
from planish.cli.options import (
    Compiler,
    Defines,
    Floats,
    Fp,
    Function,
    Includes,
    ProjectFiles,
    Quiet,
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
from planish.core.span import Source
from planish.options import Options
from planish.report.tuning import describe_front, describe_result, describe_space
from planish.schedule.arguments import NestChoice
from planish.tuning.choices import choice_of, merge_choices, print_record
from planish.tuning.farm.elsewhere import Elsewhere, tune_units
from planish.tuning.farm.farm_session import AHEAD, FarmWishes, TuningUnit
from planish.tuning.farm.profile import read_profile
from planish.tuning.pareto import find_front
from planish.tuning.points.feedback import read_feedback
from planish.tuning.session import TunedResult, TuningWishes, list_spaces
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.tuner import INTERRUPTED as STOPPED
from planish.tuning.tuner import TuningBudget

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

SILENT = (*NOTHING, "E0927")
"""What is no error of files that the user did not name: there is nothing to tune."""
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


def check_feedback(text: str) -> str:
    """The text of --feedback; raises typer.BadParameter."""
    try:
        read_feedback(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return text


def check_budget(text: str) -> str:
    """The text of --budget; raises typer.BadParameter."""
    parse_budget(text)
    return text


@app.command()
@guarded
def tune(
    files: ProjectFiles,
    budget: Annotated[
        str, typer.Option("--budget", metavar="60s|N", help="A time or trials, for each nest (DIR: for all).",
                          callback=check_budget)
    ] = "60s",
    search: Annotated[SearchName, typer.Option("--search", help="How the space is searched.")] = SearchName.auto,
    feedback: Annotated[
        str,
        typer.Option(
            "--feedback", metavar="time|size|time,size", help="What points are compared by; the first one decides.",
            callback=check_feedback,
        ),
    ] = "time",
    profile: Annotated[
        str | None,
        typer.Option("--profile", metavar="FILE", help="DIR: functions' shares of the time.", show_default=False),
    ] = None,
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
    quiet: Quiet = False,
) -> int:  # fmt: skip
    """Search for faster schedules of the nests in C files.

    Each trial is verified, timed beside the default, and kept in the store at once; `planish build` then takes the
    best one. After Ctrl-C, or with more budget, the same command goes on. A folder stands for all C files in it,
    compile_commands.json for those of a project: their nests share one budget, which is spent where most is gained.
    """
    options = Options(
        target=target, functions=tuple(function or ()), threads=threads, fp=read_floats(fp), sizes=parse_sizes(size),
        defines=tuple(define or ()), include_dirs=tuple(include or ()), compiler=cc, raising=raising,
    )  # fmt: skip
    holes = None if script is None else read_input(script, "a script").source
    compared = read_feedback(feedback)
    wishes = TuningWishes(parse_budget(budget), search.value, seed, not resume, holes, feedback=compared)
    project = list_files(files, OUTPUT)
    shared = any(x.found for x in project)
    if profile is not None and not shared:
        message = "--profile is of no use where each nest has its own budget"
        advice = "leave it out, or give a folder or compile_commands.json"
        raise PlanishError(Diagnostic("E0113", message, help=advice))
    if spaces:
        return _list(project, options, holes)
    weights = {} if profile is None else read_profile(profile)
    asked = FarmWishes(ahead, wishes.budget if shared else None, weights)
    elsewhere = Elsewhere(cluster, jobs, workers, asked)
    return _tune(project, options, wishes, open_store(store), output, record, quiet, elsewhere)


def _list(project: Sequence[ProjectFile], options: Options, script: Source | None) -> int:
    units, code = _read_units(project, options)
    for unit in units:
        try:
            for label, space in list_spaces(unit.source, unit.options, script):
                print("\n".join(describe_space(label, space)))
        except PlanishError as error:
            if not any(x.found for x in project):
                raise
            if error.diagnostic.code not in SILENT:
                tell(error)
                code = USER_ERROR
    return code


def _tune(
    project: Sequence[ProjectFile], options: Options, wishes: TuningWishes, store: TrialStore, output: Path | None,
    record: Path | None, quiet: bool, elsewhere: Elsewhere,
) -> int:  # fmt: skip
    choices: list[NestChoice] = []
    files, idle, done = {x.name: x for x in project}, IdleFiles(), False
    with hearing(quiet) as progress:
        units, code = _read_units(project, options)
        found_files = any(x.found for x in project)
        for found in tune_units(units, wishes, store, elsewhere, progress):
            if isinstance(found, PlanishError):
                file = files.get("" if found.source is None else found.source.name, ProjectFile(""))
                silent = found_files and found.diagnostic.code in SILENT
                if not idle.takes(file, found) and not silent:
                    tell(found)
                    code = USER_ERROR
                continue
            done = True
            if not quiet:
                print("\n".join(describe_result(found, wishes, store.path)), flush=True)
                print_front(found, wishes, store)
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
    for refused in idle.settle(done):
        tell(refused)
        code = USER_ERROR
    if idle.names and not quiet:
        print(f"\n{idle.describe()}")
    if record is not None:
        _write(record, print_record(merge_choices(choices)))
    return tell_interrupted(0, "all trials so far are in the store") if code == INTERRUPTED else code


def _read_units(project: Sequence[ProjectFile], options: Options) -> tuple[list[TuningUnit], int]:
    """What is to be tuned, and the exit code so far: a file of a folder that cannot be read is told, and holds up no
    other one. PlanishError for one that was named."""
    (units, refused), code = read_units(project, options), OK
    for file, error in refused:
        if not file.found:
            raise error
        if error.diagnostic.code not in SILENT:
            tell(error)
            code = USER_ERROR
    return units, code


def read_units(
    project: Sequence[ProjectFile], options: Options
) -> tuple[list[TuningUnit], list[tuple[ProjectFile, PlanishError]]]:  # fmt: skip
    """The files that can be read, and the others, each with its error."""
    units, refused = [], []
    for file in project:
        try:
            units.append(TuningUnit(read_input(file.name).source, file.options(options)))
        except PlanishError as error:
            refused.append((file, error))
    return units, refused


def print_front(found: TunedResult, wishes: TuningWishes, store: TrialStore) -> None:
    """Prints the points than which none is better in all that they are compared by, where that is more than one."""
    result = found.result
    if len(wishes.feedback) > 1 and result is not None and result.default is not None:
        print("\n".join(describe_front(find_front(store.trials(result.default.task)), wishes.feedback)), flush=True)


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
        message = f"cannot write {path}: {error.strerror or error}"
        raise PlanishError(Diagnostic("E0902", message, help="check the path and its permissions")) from error
