"""What builds take of tuning: the best point of each nest of a file, from the store or from a record.

>>> from planish.schedule.arguments import Point
>>> text = print_record([NestChoice("kernel nest(; )", Point.of({"version": "maxfuse"}), "a.c: f, line 3")])
>>> read_record(Source("r.json", text))[0].version
'maxfuse'
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace

from planish.build.plan import plan_region
from planish.build.read import read_file
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFunction
from planish.library.driver import find_arguments
from planish.library.registry import find_strategy
from planish.options import Options
from planish.run.toolchains.cross import compiler_for
from planish.schedule.arguments import VERSION as POINT_VERSION
from planish.schedule.arguments import NestChoice, Point, Value, parse_point
from planish.target.load import load_target
from planish.tuning.store.trial_store import TrialStore, default_store
from planish.tuning.tasks import task_of
from planish.tuning.trial import TuningTask, TuningTrial
from planish.version import VERSION

FORMAT = 1
RECORD = "a record of tuning"
GAIN = 0.98
"""Of the default's time, what a point has to be below to take its place: less is what the clock's noise may be."""


class TrialStoreWarning(UserWarning):
    """The user's trial store cannot be read; builds go on without it."""


def with_known_choices(source: Source, options: Options, store: TrialStore) -> Options:
    """The options with the best points that a store has of a file's nests on this machine, or where versions are timed
    on another one; as they are where a script, or a record, says what is to be done, or there is no store. PlanishError
    as of `read_file`, and where a store that was asked for cannot be read; the user's own is only warned of."""
    if not _is_asked(options, store):
        return options
    return choose_for(read_file(source, options).functions, options, store)


def choose_for(functions: Iterable[CFunction], options: Options, store: TrialStore) -> Options:
    """The same, of functions that were read."""
    if not _is_asked(options, store):
        return options
    target = load_target(options.target)
    try:
        compiler = compiler_for(target, options.compiler)
    except PlanishError:
        return options  # a build says so; what is only shown needs none
    named = (x for x in functions if options.takes(x.name))
    tasks = [task_of(region, options, target, compiler) for x in named for region in x.regions]
    try:
        found = {x.kernel: best for x in tasks if (best := _best_choice(store, x, options.measure)) is not None}
    except PlanishError as error:
        if store.path != default_store():
            raise
        advice = "what is built goes on without it: delete or move the file, or give `planish build` --no-trials"
        told = replace(error.diagnostic, severity="warning", help=advice)
        warnings.warn(TrialStoreWarning(told.render()), stacklevel=2)
        return options
    return replace(options, choices=tuple(found[x] for x in sorted(found)))


def _best_choice(store: TrialStore, task: TuningTask, measured: bool) -> NestChoice | None:
    """The best point of a nest, if it is any better than the default."""
    best = store.best(task)
    # What another machine found may be slower on this one: only a clock says so.
    if best is None and measured:
        best = store.best_elsewhere(task)
    return choice_of(best, task) if best is not None and best.score < GAIN else None


def _is_asked(options: Options, store: TrialStore) -> bool:
    return options.script is None and not options.choices and store.path.exists()


def choice_of(trial: TuningTrial, task: TuningTask) -> NestChoice:
    """A trial's point as a choice for the nest of a task, with a note where it was made elsewhere."""
    other = trial.task
    elsewhere = "" if other == task else f" of {other.machine} ({other.fingerprint[:6]}) by {other.compiler}"
    return NestChoice(task.kernel, trial.point, f"trial {trial.digest[:12]}{elsewhere}")


def print_record(choices: Iterable[NestChoice]) -> str:
    """Choices as JSON, one nest after the other."""
    nests = [{"nest": x.nest, "point": x.point.as_dict(), "source": x.source} for x in choices]
    return json.dumps({"format": FORMAT, "planish": VERSION, "nests": nests}, indent=1, ensure_ascii=False) + "\n"


def read_asked(text: str) -> tuple[NestChoice, ...]:
    """The point that a user asks for, of all nests. PlanishError E0932 for what is none, E0123 for a version that no
    strategy makes."""
    point = parse_point(text)
    if point is None:
        raise PlanishError(Diagnostic("E0932", f"`{text}` is no point of tuning"))
    find_strategy(str(point.get(POINT_VERSION)))
    return (NestChoice("", point, "--point", only=True),)


def check_asked(source: Source, options: Options) -> None:
    """That a nest of a file becomes the version that the user asks for, with its arguments. PlanishError E0931 where
    none does, and as of `read_file`."""
    file, target = read_file(source, options), load_target(options.target)
    (asked,) = options.choices
    given = {name: value for name, value in asked.point.values if name != POINT_VERSION}
    regions = [x for function in file.functions if options.takes(function.name) for x in function.regions]
    found = False
    for region in regions:
        plan = plan_region(region, options, target)
        own = find_arguments(plan.context, plan.strategies, asked.version)
        problem = None if own is None else own.problem(given)
        if problem is not None:
            raise PlanishError(Diagnostic("E0931", f"{asked.source}: {problem[0]}", region.span, problem[1]), source)
        found = found or own is not None
    if not found:
        where = f" for {options.target}" if options.variant else ""
        message = f"{asked.source}: no nest becomes `{asked.version}`{where}"
        place = regions[0].span if regions else None
        advice = f"`planish tune {source.name} --list` prints the versions of each"
        raise PlanishError(Diagnostic("E0931", message, place, advice), source)


def read_record(source: Source) -> tuple[NestChoice, ...]:
    """The choices of a record, each of which alone is to be tried. PlanishError E0929 for what is no record."""
    try:
        data = json.loads(source.text)
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}, and this Planish knows {FORMAT}")
        return tuple(_read(x) for x in data["nests"])
    except json.JSONDecodeError as error:
        place = source.point(error.lineno, error.colno)
        raise PlanishError(Diagnostic("E0929", f"this is no JSON: {error.msg}", place), source) from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        what = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
        raise PlanishError(
            Diagnostic("E0929", f"this is no record of tuning: {what}", source.point(1)), source
        ) from error


def read_records(names: str, targets: Sequence[str]) -> tuple[NestChoice, ...]:
    """The choices of a file or, where there are several targets, of one for each of them, with commas in between.
    PlanishError E0113 where these are not as many or one is missing, and as of `read_record`."""
    if len(targets) == 1:
        return read_record(read_input(names, RECORD).source)
    files = names.split(",")
    if "" in files:
        message, advice = f"a name is missing in '{names}'", "name one for each target: --replay a.json,b.json"
        raise PlanishError(Diagnostic("E0113", message, help=advice))
    if len(files) != len(targets):
        advice = "name one for each target, in their order: --replay a.json,b.json"
        message = f"--replay names {len(files)} record{'s' if len(files) > 1 else ''} for {len(targets)} targets"
        raise PlanishError(Diagnostic("E0113", message, help=advice))
    return tuple(
        replace(x, target=target)
        for name, target in zip(files, targets, strict=True) for x in read_record(read_input(name, RECORD).source)
    )  # fmt: skip


def _read(entry: dict[str, object]) -> NestChoice:
    nest, point, origin = entry["nest"], entry["point"], entry.get("source", "")
    if not isinstance(nest, str) or not isinstance(point, dict) or not isinstance(origin, str):
        raise ValueError("a nest is a text with a point and a source")
    for name, value in point.items():
        if not isinstance(value, Value) or isinstance(value, bool):
            raise ValueError(f"`{name}` is to be a whole number or a text, not {value!r}")
    return NestChoice(nest, Point.of(point), origin or "record", only=True)


def merge_choices(choices: Sequence[NestChoice]) -> tuple[NestChoice, ...]:
    """Each nest once, with the choice that is the last, in the order of their texts."""
    found = {x.nest: x for x in choices}
    return tuple(found[x] for x in sorted(found))
