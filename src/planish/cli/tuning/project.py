"""`planish build … --tune`: the nests of all files are tuned with one budget before the files are built.

tune_project(list_files(["src"], Path("planish-out")), options, store, Elsewhere(jobs=2), quiet=False, out=sys.stdout)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from planish.build.project import ProjectFile
from planish.cli.exits import tell
from planish.cli.tuning.tune import SILENT, hearing, read_units
from planish.core.diagnostic import PlanishError
from planish.options import Options
from planish.report.tuning import describe_result
from planish.tuning.farm.elsewhere import Elsewhere, tune_units
from planish.tuning.session import TuningWishes
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.tuner import INTERRUPTED, TuningBudget


def tune_project(
    project: Sequence[ProjectFile], options: Options, store: TrialStore, elsewhere: Elsewhere, quiet: bool,
    out: TextIO,
) -> bool:  # fmt: skip
    """Tunes all nests with the budget of `elsewhere`, and tells `out` what came of each; False after an interrupt.
    PlanishError where there is no such cluster, or the store cannot be used."""
    wishes = TuningWishes(elsewhere.wishes.all or TuningBudget())
    units, _ = read_units(project, options)  # why others cannot be read is said by their builds
    went_on = True
    with hearing(quiet) as progress:
        for found in tune_units(units, wishes, store, elsewhere, progress):
            if isinstance(found, PlanishError):
                if found.diagnostic.code not in SILENT:
                    tell(found)
                continue
            if not quiet:
                print("\n".join(describe_result(found, wishes, store.path)), file=out, flush=True)
            if found.result is not None and found.result.reason == INTERRUPTED:
                went_on = False
    return went_on
