"""Where tuning is done: in this process, in several of this machine, or on a cluster; the results have one shape.

>>> Elsewhere().here, Elsewhere(jobs=2).here
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain

from planish.core.diagnostic import PlanishError
from planish.core.progress import Progress, keep_quiet
from planish.options import Options
from planish.tuning.farm.clusters import opened_farm
from planish.tuning.farm.farm import Farm
from planish.tuning.farm.farm_session import FarmWishes, TuningUnit, tune_on_farm
from planish.tuning.farm.local_farm import LocalFarm
from planish.tuning.session import TunedResult, TuningWishes, tune_file
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.tuner import INTERRUPTED


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What the user says of where: a `cluster` (see `planish.tuning.farm.clusters`) with so many `workers` to start, or
    `jobs` of this machine; and what is asked of a farm."""

    cluster: str = ""
    jobs: int = 0
    workers: int | None = None
    wishes: FarmWishes = field(default_factory=FarmWishes)

    @property
    def here(self) -> bool:
        """Whether nests are tuned one after the other in this process, each with a budget of its own."""
        return not self.cluster and not self.jobs and self.wishes.all is None


def tune_units(
    units: Iterable[TuningUnit], wishes: TuningWishes, store: TrialStore, elsewhere: Elsewhere,
    tell: Progress = keep_quiet,
) -> Iterator[TunedResult | PlanishError]:  # fmt: skip
    """Tunes files, which have the same target, compiler and threads; each nest when it is done, and what is wrong
    with a file, which holds up no other one. PlanishError as of `tune_file` and `opened_farm`."""
    if elsewhere.here:
        for unit in units:
            try:
                for found in tune_file(unit.source, unit.options, wishes, store, tell):
                    yield found
                    if found.result is not None and found.result.reason == INTERRUPTED:
                        return
            except PlanishError as error:
                if error.source is None:
                    raise  # of no file, but of what all are tuned with
                yield error
        return
    coming = iter(units)
    first = next(coming, None)
    if first is not None:
        with _opened(elsewhere, first.options, tell) as farm:
            yield from tune_on_farm(chain((first,), coming), wishes, store, farm, elsewhere.wishes, tell)


@contextmanager
def _opened(elsewhere: Elsewhere, options: Options, tell: Progress) -> Iterator[Farm]:
    target, compiler = options.target, options.compiler
    if elsewhere.cluster:
        with opened_farm(elsewhere.cluster, elsewhere.workers, target, compiler, tell) as found:
            yield found
        return
    with closing(LocalFarm(max(1, elsewhere.jobs), target, compiler, options.threads)) as farm:
        yield farm
