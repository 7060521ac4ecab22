"""What is to be tuned in a file: each nest with its context, its space, and the task under which its trials are kept.

>>> from planish.target.load import load_target
>>> fingerprint_of(load_target("generic")) == fingerprint_of(load_target("generic"))
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planish.build.plan import Plan, plan_region
from planish.core.cache import key
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFile, CFunction, Region
from planish.ir.text.canonical_nest import canonical_names, canonical_text
from planish.options import Options
from planish.run.toolchains.toolchain import Compiler
from planish.target.machine import Target
from planish.tuning.points.feedback import Feedback
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.spaces.strategy_space import find_space
from planish.tuning.trial import TuningTask


@dataclass(frozen=True, slots=True, eq=False)
class TunedNest:
    """A nest of a function, how strategies look at it, and its task."""

    function: CFunction
    region: Region
    plan: Plan
    task: TuningTask
    label: str

    def find_space(self) -> SearchSpace:
        """All that strategies make of it, with their arguments."""
        return find_space(self.plan.context, self.plan.strategies)


def find_nests(
    file: CFile, options: Options, target: Target, compiler: Compiler, tell: Progress = keep_quiet
) -> tuple[TunedNest, ...]:  # fmt: skip
    """The nests of a file, or of one of its functions, that strategies may be applied to."""
    out = []
    for function in file.functions:
        if not options.takes(function.name):
            continue
        for region in function.regions:
            plan = plan_region(region, options, target, tell)
            if plan.context.nest is not None or region.reversal is not None or region.stages:
                label = f"{file.given.name}: {function.name}, line {region.span.line if region.span else '?'}"
                task = task_of(region, options, target, compiler)
                out.append(TunedNest(function, region, plan, task, label))
    return tuple(out)


def task_of(region: Region, options: Options, target: Target, compiler: Compiler) -> TuningTask:
    """The task of a nest: the same for the same loops under other names. Sizes that are given count, under the names
    that they have in its canonical text."""
    names = canonical_names(region.kernel)
    sizes = {names.get(inner, inner): options.sizes[text] for inner, text in region.names if text in options.sizes}
    given = "".join(f" --size {name}={value}" for name, value in sorted(sizes.items()))
    asked = f"--fp {options.fp} --threads {options.threads}{'' if options.raising else ' --no-raise'}{given}"
    return TuningTask(
        canonical_text(region.kernel), target.name, fingerprint_of(target), f"{compiler.kind} {compiler.version}", asked
    )  # fmt: skip


def task_compared_by(task: TuningTask, feedback: Sequence[Feedback], script: Source | None) -> TuningTask:
    """The task where points are compared by something else first than time, which says nothing of times; or where they
    are those of a script with holes, which say nothing of those of strategies: its text is what they belong to."""
    asked = "" if feedback[0] == "time" else f" --feedback {feedback[0]}"
    if script is not None:
        asked += f" --script {key(script.text)[:16]}"
    return replace(task, options=task.options + asked)


def fingerprint_of(target: Target) -> str:
    """The fingerprint of a machine's description; at what it runs changes from moment to moment."""
    return key("machine", replace(target, frequency_ghz=0.0))
