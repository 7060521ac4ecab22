"""Tables of search spaces: the versions of a nest, the arguments of each, and how many points there are.

>>> from planish.tuning.spaces.search_space import SearchSpace
>>> from planish.schedule.arguments import TuningArgument, TuningArguments
>>> space = SearchSpace({"gemv-rows": TuningArguments((TuningArgument("rows", (4, 8), 8, "rows at a time"),))})
>>> print("\\n".join(describe_space("f.c: f, line 3", space)))
f.c: f, line 3: 2 points
  gemv-rows: 2 points
    rows = 8 of 4, 8: rows at a time
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from planish.report.tables import format_ratio
from planish.report.trials import SHORT, describe_score, describe_value, format_value
from planish.schedule.arguments import TuningArgument
from planish.tuning.session import TunedResult, TuningWishes
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.trial import TuningTrial


def describe_space(label: str, space: SearchSpace) -> Iterator[str]:
    """A space, a line for each version, argument and constraint."""
    yield f"{label}: {space.size()} points"
    for version, own in space.alternatives.items():
        size = space.size_of(version)
        yield f"  {version}: {size} point{'' if size.points == 1 else 's'}"
        yield from (f"    {_describe(x)}" for x in own.arguments)
        yield from (f"    where {x.note} ({', '.join(x.names)})" for x in own.constraints)


def describe_result(found: TunedResult, wishes: TuningWishes, store: Path) -> Iterator[str]:
    """What tuning came to, and whether more budget may find more."""
    result = found.result
    if result is None:
        yield f"{found.nest.label}: not tuned"
        return
    made = f"{result.trials} trial{'' if result.trials == 1 else 's'}"
    made += f" and {result.confirmations} for confirmation" if result.confirmations else ""
    yield f"{found.nest.label}: {made} (seed {wishes.seed}), {result.known} of {found.space.size()} points known"
    best = result.best
    if best is None:
        yield "  nothing could be measured"
    elif result.default is not None and best.point == result.default.point:
        yield f"  the default is the best so far: {best.point}"
    else:
        what = "" if wishes.feedback == ("time",) else f" in {wishes.feedback[0]}"
        yield f"  best {describe_score(best)} over the default{what}: {best.point} (trial {best.digest[:SHORT]})"
    # Where the default is the only point, no budget finds more.
    if not result.complete and found.space.size().points > 1:
        yield f"  incomplete: {result.reason}; the same command goes on from {store}"


def describe_front(front: Sequence[TuningTrial], feedback: Sequence[str]) -> Iterator[str]:
    """The Pareto front of trials, each with how many times less than the default it takes of each thing."""
    yield f"  Pareto front ({', '.join(feedback)}): {len(front)} point{'' if len(front) == 1 else 's'}"
    for x in front:
        shares = ", ".join(
            f"{format_ratio(1 / r) if r else '-'} {name}" for name, r in zip(feedback, x.ratios, strict=False)
        )
        values = ", ".join((describe_value(x), *(format_value(own, metric) for metric, own, _ in x.more)))
        yield f"    {shares} ({values}): {x.point}"


def _describe(argument: TuningArgument) -> str:
    values = ", ".join(map(str, argument.values))
    only = ""
    if argument.only is not None:
        only = f", where {argument.only[0]} is {' or '.join(map(str, argument.only[1]))}"
    return f"{argument.name} = {argument.default} of {values}{only}{f': {argument.note}' if argument.note else ''}"
