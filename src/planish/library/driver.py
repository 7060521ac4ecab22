"""Ranks what strategies match by expected cost and makes versions in that order, with a clock or without.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.library.registry import STRATEGIES
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> text = "kernel k(n; A: f64[n] distinct, B: f64[n] distinct) { for i in 0 .. n { B[i] = A[i] + 1.0 } }"
>>> kernel = parse_kernel(text)
>>> cx = Context(kernel, prepare(kernel), load_target("x86-avx512"))
>>> [x.name for x in make_versions(cx, STRATEGIES).versions]
['maxfuse', 'maxfuse, nontemporal']
>>> [x.name for x in make_versions(cx, STRATEGIES, most=1).versions]
['maxfuse']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, TypeVar

import islpy as isl

from planish.core.diagnostic import PlanishError, Remark
from planish.ir.checker import check_kernel
from planish.library.parallel.thread_threshold import start_where_worth
from planish.library.strategy import AnyVersion, Context, Strategy
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.op_budget import OverBudgetError
from planish.schedule.arguments import DEFAULTS, NO_ARGUMENTS, TuningArguments
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.auto.policies import POLICY_NAMES

_Given = TypeVar("_Given")


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Something that a strategy found, and what its versions are expected to cost."""

    strategy: Strategy[Any]
    found: Any
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class MadeVersions:
    """The versions that were made, in the order of their expected costs, and what is said of those that were not.
    `makers`: what each of them was made of, by its name."""

    versions: tuple[AnyVersion, ...]
    remarks: tuple[Remark, ...]
    makers: Mapping[str, Ranked] = field(default_factory=dict)


def rank(cx: Context, strategies: Sequence[Strategy[Any]]) -> Iterator[Ranked | Remark]:
    """All matches, the cheapest first; a strategy is not asked before all that is surely cheaper was given, so that a
    caller who needs a few pays for these only. Remarks tell of strategies that could not look."""
    waiting: list[Ranked] = []
    for strategy in sorted((x for x in strategies if x.fits(cx)), key=lambda x: x.least(cx)):
        least = strategy.least(cx)
        yield from (x for x in waiting if x.cost <= least)
        waiting = [x for x in waiting if x.cost > least]
        found = _guarded(strategy, cx, partial(_matches, strategy, cx))
        if isinstance(found, Remark):
            yield found
        else:
            waiting = sorted((*waiting, *found), key=lambda x: x.cost)
    yield from waiting


def make_versions(cx: Context, strategies: Sequence[Strategy[Any]], most: int | None = None) -> MadeVersions:
    """The versions of a nest, the most promising first, and at most `most` of them."""
    cx = replace(cx, alone=lambda inner, part: _alone(inner, part, strategies))
    made: list[AnyVersion] = []
    nests: list[Version] = []
    remarks: list[Remark] = []
    makers: dict[str, Ranked] = {}
    for match in rank(cx, strategies):
        if isinstance(match, Remark):
            remarks.append(match)
            continue
        now = replace(cx, known=tuple(made), nests=_in_order(nests))
        given = _guarded(match.strategy, cx, partial(_apply, match, now))
        for x in (given,) if isinstance(given, Remark) else given:
            if isinstance(x, Remark):
                remarks.append(x)
            elif all(x.name != y.name for y in made):
                made.append(version := _checked(cx, x))
                makers[version.name] = match
                if isinstance(version, Version) and not match.strategy.kernels:
                    nests.append(version)
        if most is not None and len(made) >= most or cx.wanted in makers:
            break  # before anything else is looked for
    return MadeVersions(tuple(made[:most]), tuple(dict.fromkeys(remarks)), makers)


def make_chosen(
    cx: Context, strategies: Sequence[Strategy[Any]], version: str
) -> tuple[AnyVersion | None, list[Remark]]:
    """The version of that name with the arguments that `cx.point` has, by the strategies that it is called after, or by
    all where these do not make it; None where there is none. And what the strategies said."""
    said: list[Remark] = []
    for made in _made_for(cx, strategies, version):
        said += [x for x in made.remarks if x not in said]
        if version in made.makers:
            return next(x for x in made.versions if x.name == version), said
    return None, said


def find_arguments(cx: Context, strategies: Sequence[Strategy[Any]], version: str) -> TuningArguments | None:
    """What may be tuned of the version of that name, under the names of the strategies that take it; None where none
    makes it."""
    for made in _made_for(replace(cx, point=DEFAULTS), strategies, version):
        if version in made.makers:
            return arguments_of(cx, made, version)
    return None


def arguments_of(cx: Context, made: MadeVersions, version: str) -> TuningArguments:
    """The arguments of a version: those of its strategy, and of the versions that it was made from, whose names are in
    front of its own."""
    parts = version.split(", ")
    found: dict[str, TuningArguments] = {}
    for count in range(1, len(parts) + 1):
        maker = made.makers.get(name := ", ".join(parts[:count]))
        if maker is not None:
            strategy = maker.strategy
            found[strategy.name] = strategy.arguments(cx, maker.found, name).named(strategy.name)
    return reduce(TuningArguments.joined, found.values(), NO_ARGUMENTS)


def _made_for(cx: Context, strategies: Sequence[Strategy[Any]], version: str) -> Iterator[MadeVersions]:
    """What the strategies make that a version is called after, and what all do where that is not among it."""
    wanted = replace(cx, wanted=version)
    for asked in ([x for x in strategies if x.makes(version)], strategies):
        yield make_versions(wanted, asked)


def _matches(strategy: Strategy[Any], cx: Context) -> list[Ranked]:
    return [Ranked(strategy, x, strategy.cost_of(cx, x)) for x in strategy.match(cx)]


def _apply(match: Ranked, cx: Context) -> list[AnyVersion | Remark]:
    own = replace(cx, point=cx.point.under(match.strategy.name)) if cx.point else cx
    return list(match.strategy.apply(own, match.found))


def _in_order(nests: Sequence[Version]) -> tuple[Version, ...]:
    """Versions with those first that only schedule loops: any other may need what these do not."""
    return tuple(sorted(nests, key=lambda x: x.name not in POLICY_NAMES))


def _checked(cx: Context, version: AnyVersion) -> AnyVersion:
    """A version whose threads start where that is worth it; ill-formed nests are a bug."""
    if not isinstance(version, Version) or cx.nest is None:
        return version
    (version,) = start_where_worth(cx.nest, (version,))
    check_kernel(version.kernel, f"schedule {version.name}")
    return version


def _alone(cx: Context, part: Prepared, strategies: Sequence[Strategy[Any]]) -> tuple[Version, ...]:
    """All versions of a part of a nest for one thread, but for those that call kernels."""
    inner = replace(cx, kernel=part.kernel, nest=part, threads=1, region=None, known=(), nests=())
    made = make_versions(inner, [x for x in strategies if not x.kernels])
    return tuple(x for x in made.versions if isinstance(x, Version))


def _guarded(strategy: Strategy[Any], cx: Context, work: Callable[[], _Given]) -> _Given | Remark:
    """What a strategy gives, or why it gives nothing: one that cannot look at a nest does not hold up the others."""
    span = cx.kernel.span
    try:
        return work()
    except NotAffineError as error:
        return Remark("strategy-none", "note", f"{strategy.name}: {error.reason}", span)
    except PlanishError as error:
        return Remark("strategy-none", "note", f"{strategy.name}: {error.diagnostic.message}", span)
    except OverBudgetError:
        return Remark("strategy-none", "note", f"{strategy.name}: its analysis is over its budget", span)
    except isl.Error as error:
        reason = str(error).partition(" in /")[0]
        return Remark("strategy-none", "note", f"{strategy.name}: the polyhedral library gave up: {reason}", span)
