"""A strategy: one way to make a nest faster, as a name, what it matches, the versions it makes, and what these cost.

>>> zero = Strategy("zero", "clears nothing", lambda cx: (), lambda cx, found: (), share(0.5))
>>> zero.name, zero.note
('zero', 'clears nothing')
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import expm1, log1p
from typing import Generic, TypeVar

import islpy as isl

from planish.core.cache import Cache
from planish.core.diagnostic import Remark
from planish.frontend.c.translation_unit import Region
from planish.ir.expr import index
from planish.ir.index.polynomial import constant, place
from planish.ir.nest import Kernel
from planish.ir.types import Floats
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.parallel.work_estimate import estimate
from planish.library.signal.fft_stages.stage_kernels import StageVersion
from planish.poly.canonical.delinearise import delinearise
from planish.poly.idioms.histogram import find_counting
from planish.poly.idioms.lu_partial_pivoting import find_pivoting
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extraction import Scop
from planish.schedule.arguments import DEFAULTS, NO_ARGUMENTS, Point, TuningArguments
from planish.schedule.auto.cost.estimate import CostModel
from planish.schedule.auto.plan import Prepared, Version, as_written, cycles_of, prepare
from planish.schedule.auto.policies import POLICY_NAMES
from planish.target.machine import Target

LITTLE = 1 << 15
"""The operations of a nest below which calls of the library's kernels are no gain: what they prepare takes as long."""
LOOPS = 1.0
"""What the best schedule of loops costs; those of other policies cost up to `BEHIND`, in the order of their cycles."""
BEHIND = 2.0
"""What is tried behind all schedules of loops: where there is a clock, or where these are no good."""

_MOST = 100.0
"""The logarithm of more cycles than any nest takes for an instance."""

AnyVersion = Version | StageVersion
Made = Iterable[AnyVersion | Remark]
"""Versions, and remarks on those that there are not."""
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)  # not slotted: what is found once is kept
class Context:
    """What every strategy looks at.

    `kernel`: the nest as it was read; `nest`: the nest as it is scheduled, None where it is no static control part;
    `region`: its place in a file, None for a part of one. `sizes`: those that calls are likely to have; `scratch`:
    arrays of which nothing is read behind the nest. `known`: the versions made so far; `nests`: those
    of them that call no kernels, those that only schedule loops first; `alone`: all versions of a part
    of the nest for one thread, but for those that call kernels of the library. `point`: the values of a strategy's
    arguments (of `apply`), or of all strategies', each behind the name of its own; `wanted`: the version that alone is
    asked for.
    """

    kernel: Kernel
    nest: Prepared | None
    target: Target
    fp: Floats = "reassociate"
    threads: int = 1
    sizes: Mapping[str, int] = field(default_factory=dict)
    scratch: Collection[str] = ()
    maker: KernelCache = field(default_factory=lambda: KernelCache(Cache()))
    region: Region | None = None
    known: tuple[AnyVersion, ...] = ()
    nests: tuple[Version, ...] = ()
    alone: Callable[[Context, Prepared], tuple[Version, ...]] = lambda cx, part: ()
    point: Point = DEFAULTS
    wanted: str = ""

    @classmethod
    def of(cls, kernel: Kernel, target: Target, fp: Floats = "reassociate", threads: int = 1) -> Context:
        """A nest for a target; NotAffineError as of `prepare`."""
        return cls(kernel, prepare(kernel), target, fp, threads)

    @property
    def prepared(self) -> Prepared:
        """The nest as it is scheduled, for strategies that are asked only where there is such."""
        assert self.nest is not None
        return self.nest

    @property
    def reassociate(self) -> bool:
        """Whether sums of floats may be made in another order."""
        return self.fp == "reassociate"

    @property
    def candidates(self) -> tuple[Version, ...]:
        """The versions of the nest itself that were made so far."""
        return tuple(x for x in self.known if isinstance(x, Version))

    @property
    def scheduled(self) -> tuple[Version, ...]:
        """The versions so far that are loops in another order, and nothing else."""
        return tuple(x for x in self.nests if x.name in POLICY_NAMES)

    @cached_property
    def as_written(self) -> Kernel:
        """The nest in its own order, with local arrays as small as they may be in it."""
        return as_written(self.prepared)

    @cached_property
    def searches(self) -> bool:
        """Whether the nest is a search for pivots, or counts: as it stands it isn't worth a schedule."""
        return self.counts or (self.flat is not None and find_pivoting(self.flat) is not None)

    @cached_property
    def flat(self) -> Kernel | None:
        """The nest as it was read with subscripts by rows and columns; None where these are not affine."""
        try:
            return delinearise(self.kernel)
        except NotAffineError:
            return None

    @cached_property
    def counts(self) -> bool:
        """Whether the nest counts how often values occur."""
        return self.flat is not None and find_counting(self.flat) is not None

    @cached_property
    def is_little(self) -> bool:
        """Whether there is known to be too little to do for calls of kernels."""
        work = estimate(self.prepared.kernel.body)
        known = None if work is None else constant(place(work, {x: index(y) for x, y in self.sizes.items()}))
        return known is not None and known < LITTLE


@dataclass(frozen=True, slots=True)
class Strategy(Generic[Found]):
    """One way to make a nest faster.

    `match` gives all that the strategy may be applied to (nothing: there is none), at little cost; `apply` the versions
    of one of these. Costs are expected times, relative to that of the best schedule of loops (`LOOPS`): `cost` is that
    of something found, and never below `least`, which is known before anything is looked for; the default is `least`.

    `arguments`: what may be tuned of the version of that name, of something that it found, which `apply` reads from
    `Context.point`.

    `goes_on`: it is for loops that go on as they are written behind some iterations, and for nothing else;
    `kernels`: it calls kernels of the library; `loop`: it rewrites the loop around the nest, which needs no analysis of
    the nest; `search`: it rewrites nests that search; `variants`: what each of several ways is called, and does.
    """

    name: str
    note: str
    match: Callable[[Context], Sequence[Found]]
    apply: Callable[[Context, Found], Made]
    least: Callable[[Context], float]
    cost: Callable[[Context, Found], float] | None = None
    arguments: Callable[[Context, Found, str], TuningArguments] = lambda cx, found, version: NO_ARGUMENTS
    kernels: bool = False
    loop: bool = False
    search: bool = False
    goes_on: bool = False
    variants: Mapping[str, str] = field(default_factory=dict)

    def cost_of(self, cx: Context, found: Found) -> float:
        """What the versions of something found are expected to cost."""
        return self.least(cx) if self.cost is None else self.cost(cx, found)

    def makes(self, version: str) -> bool:
        """Whether a version of that name, or a part of it behind a comma, is called after the strategy."""
        names = (self.name, *self.variants)
        return any(x in names or x.startswith(f"{self.name}-") for x in version.split(", "))

    def fits(self, cx: Context) -> bool:
        """Whether the strategy is for nests of that kind at all: of a loop that goes on as it is written, the kernel
        only tells what iterations do, and no other code computes the same."""
        if self.goes_on != (cx.region is not None and cx.region.goes_on):
            return False
        return self.loop or (cx.nest is not None and (self.search or not cx.searches))


def cost_of_schedule(cx: Context, scop: Scop, schedule: isl.Schedule) -> float:
    """The cost of a schedule of the nest's statements, as the performance model estimates it: before what is tried
    behind all loops where that is known."""
    return cost_of_cycles(cycles_of(CostModel(scop, cx.target, cx.sizes), schedule))


def cost_of_cycles(cycles: float) -> float:
    """The cost of what takes so many cycles for each instance of the deepest statements."""
    return LOOPS + (BEHIND - LOOPS) * min(log1p(max(cycles, 0.0)) / _MOST, 0.99)


def cycles_of_cost(cost: float) -> float | None:
    """The cycles whose cost it is, as `cost_of_cycles` has it; None where it is no estimate of cycles.

    >>> round(cycles_of_cost(cost_of_cycles(3.0)), 6), cycles_of_cost(0.5)
    (3.0, None)
    """
    part = (cost - LOOPS) / (BEHIND - LOOPS)
    return expm1(part * _MOST) if 0.0 <= part < 0.99 else None


def share(part: float, *, start: bool = False) -> Callable[[Context], float]:
    """The cost of a strategy whose versions take a part of the time of loops. `start`: not where there is little to do,
    since they prepare something first."""
    return lambda cx: BEHIND if start and cx.is_little else part
