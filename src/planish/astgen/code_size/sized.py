"""The nest that executes the fewest tests and loop steps within a bound on its size: cuts are chosen one by one.

Each is tried: the nest is generated with one more loop cut and run for some sizes; the cut that saves the most for each
statement that it adds stays, until none fits. What runs most often is thereby freed of its tests first.

>>> from planish.astgen.formats import parse_input
>>> text = "[n, m] -> { A[i] -> [i] : 0 <= i < n; B[i] -> [i] : 2 <= i < m } [n, m] -> { : n > m > 2 } { }"
>>> found = parse_input(text, "two.in")
>>> [generate_sized(found, SizeBound(copies=k), [{"n": 40, "m": 30}]).copies for k in (2, 4, 9)]
[2, 4, 4]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planish.astgen.code_size.cuts import CutPlan
from planish.astgen.code_size.effort import EffortLimitError, compile_nest, count_copies, count_loops
from planish.astgen.formats import CodegenInput, generate_input
from planish.astgen.options import PLAIN, CodegenSettings
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.nest import Block

Sizes = Mapping[str, int]

MOST_TRIALS = 200
"""The nests that are generated to choose the cuts."""

MOST_STEPS = 2_000_000
"""The loop steps of a run; a nest with cuts that takes more counts as one that takes so many."""


@dataclass(frozen=True, slots=True)
class SizeBound:
    """A bound on the statements and the loops in a text; None: any number."""

    copies: int | None = None
    loops: int | None = None

    def holds(self, nest: Sized) -> bool:
        """Whether a nest is not larger."""
        return nest.copies <= (self.copies or nest.copies) and nest.loops <= (self.loops or nest.loops)


@dataclass(frozen=True, slots=True)
class Sized:
    """A nest with its statements, its loops, and what it executes for the sizes it was run with."""

    nest: Block
    copies: int
    loops: int
    executed: int


def generate_sized(found: CodegenInput, size: SizeBound, runs: Sequence[Sizes]) -> Sized:
    """The best nest found within `size`, judged by `runs` (values of the parameters); the smallest one found where
    none is. Options `atomic` and `unroll` hold; where to separate is chosen here. Raises PlanishError as generation
    does."""
    *_, best = improve(found, size, runs)
    return best


def improve(
    found: CodegenInput,
    size: SizeBound,
    runs: Sequence[Sizes],
    tell: Callable[[str], None] = lambda message: None,
    settings: CodegenSettings = PLAIN,
) -> Iterator[Sized]:
    """The nest without a cut, then better ones within `size`; `tell` hears of each that is tried. Raises PlanishError
    E0521 where there is no run, or one of the nest without a cut is too long, besides what generation raises."""
    plan = CutPlan()
    uncut = generate_input(found, settings=replace(settings, plan=plan))
    _check_runs(found, uncut, runs)
    best = _measure(uncut, runs)
    yield best
    trials = 0
    while plan.offered and trials < MOST_TRIALS:
        good: list[tuple[Sized, CutPlan]] = []
        for place in sorted(plan.offered)[: MOST_TRIALS - trials]:
            trials += 1
            tell(f"{trials} nests tried, {best.copies} statements, {best.executed} tests and steps")
            cut = CutPlan(plan.chosen | {place})
            nest = _measure(generate_input(found, settings=replace(settings, plan=cut)), runs)
            if size.holds(nest) and nest.executed < best.executed:
                good.append((nest, cut))
        if not good:
            return
        best, plan = max(good, key=lambda x: _worth(x[0], best))
        yield best


def _worth(nest: Sized, before: Sized) -> float:
    """What is saved for each statement more."""
    return (before.executed - nest.executed) / max(1, nest.copies - before.copies)


def _check_runs(found: CodegenInput, nest: Block, runs: Sequence[Sizes]) -> None:
    """That the runs say something of the nest; raises PlanishError E0521."""
    execute = compile_nest(nest)
    for sizes in runs:
        try:
            execute(sizes, MOST_STEPS)
        except EffortLimitError as error:
            given = ", ".join(f"{name} = {value}" for name, value in sizes.items())
            raise _too_long(found, f" for {given}" if given else "") from error
    if not runs and nest.body:
        raise _too_long(found, "")


def _too_long(found: CodegenInput, sizes: str) -> PlanishError:
    message = f"the loops of {found.source.name} take more than {MOST_STEPS} steps{sizes}"
    advice = "cuts are chosen by running them: give smaller values with --param"
    if not found.parameters:
        advice = "cuts are chosen by running them, which takes too long here: leave out --copies and --loops"
    return PlanishError(Diagnostic("E0521", message, found.source.point(1), advice), found.source)


def _measure(nest: Block, runs: Sequence[Sizes]) -> Sized:
    execute = compile_nest(nest)
    executed = 0
    for sizes in runs:
        try:
            effort = execute(sizes, MOST_STEPS).effort
            executed += effort.guards + effort.control
        except EffortLimitError:
            executed += MOST_STEPS
    return Sized(nest, count_copies(nest), count_loops(nest), executed)
