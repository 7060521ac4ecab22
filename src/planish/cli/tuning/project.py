"""`planish build … --tune`: the nests of all files are tuned with one budget before the files are built.

tune_project(list_files(["src"], Path("planish-out")), options, store, Elsewhere(jobs=2), quiet=False)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planish.build.project import ProjectFile
from planish.cli.exits import tell
from planish.cli.tuning.tune import SILENT, hearing
from planish.core.diagnostic import PlanishError
from planish.core.files import read_input
from planish.options import Options
from planish.report.tuning import describe_result
from planish.tuning.farm.elsewhere import Elsewhere, tune_units
from planish.tuning.farm.farm_session import TuningUnit
from planish.tuning.session import TuningWishes
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.tuner import INTERRUPTED, TuningBudget


def tune_project(
    project: Sequence[ProjectFile], options: Options, store: TrialStore, elsewhere: Elsewhere, quiet: bool
) -> bool:
    """Tunes all nests with the budget of `elsewhere`, and prints what came of each; False after an interrupt.
    PlanishError where there is no such cluster, or the store cannot be used."""
    wishes = TuningWishes(elsewhere.wishes.all or TuningBudget())
    went_on = True
    with hearing(quiet) as progress:
        for found in tune_units(_units(project, options), wishes, store, elsewhere, progress):
            if isinstance(found, PlanishError):
                if found.diagnostic.code not in SILENT:
                    tell(found)
                continue
            if not quiet:
                print("\n".join(describe_result(found, wishes, store.path)), flush=True)
            if found.result is not None and found.result.reason == INTERRUPTED:
                went_on = False
    return went_on


def _units(project: Sequence[ProjectFile], options: Options) -> Iterator[TuningUnit]:
    for file in project:
        try:
            yield TuningUnit(read_input(file.name).source, file.options(options))
        except PlanishError:
            continue  # its build says why
