"""Makes, verifies and times points of a nest, each beside the default version of it in turns.

evaluator = NestEvaluator.of(nest, job)
evaluator.evaluate(space.default, 1.0).outcome
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

from planish.build.emit import make_drop_ins
from planish.build.job import Job
from planish.build.lower import RegionPlan, known_arguments, lower_at, lower_plan
from planish.build.plan import plan_region
from planish.build.time import build_rival
from planish.build.verify import compare_calls, compile_shipped, exercise, without_failed
from planish.core.cache import key
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.fork_pool import Bounds, Lost, run_apart
from planish.core.progress import Progress
from planish.core.span import Source
from planish.library.strategy import AnyVersion
from planish.run.calls.passing import signature_of, why_not
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.comparison import Verdict
from planish.run.sizes.branch_inputs import BranchFinder
from planish.run.sizes.call_sizes import check_cases
from planish.run.sizes.workloads import clock_cases, require_sizes
from planish.run.timing.clock import ClockError, Timing, measure, measure_first
from planish.run.workbench import DropIn
from planish.schedule.arguments import Point
from planish.tuning.measurement import Measurement, TrialOutcome
from planish.tuning.spaces.script_space import HoledScript
from planish.tuning.tasks import TunedNest

MAKING = Bounds(cpu=60.0, wall=300.0)
"""For the analysis of one point."""
FIRST_PART = 0.2
"""Of the time of a trial, the race after which it is stopped where it cannot win."""
HOPELESS = 1.2
"""A point that takes so many times what the best takes in the first race is not measured further."""
ORIGINAL = "source file"
"""What the function as it was written is called in races."""


@dataclass(slots=True)
class NestEvaluator:
    """Evaluates points of one nest of a function. `others`: how the function's other nests stay; `cases`: calls that
    check it; `clock`: the call that is timed, and `rival` what it is timed beside: the default version, or the original
    where that one is of no use. `seconds`: for the races of one point. `known`: libraries by the digest of the text."""

    nest: TunedNest
    job: Job
    signature: Signature
    others: tuple[RegionPlan, ...]
    cases: tuple[CallCase, ...]
    clocks: Sequence[CallCase]
    finder: BranchFinder
    seconds: float = 0.5
    script: HoledScript | None = None
    clock: CallCase | None = None
    rival: tuple[str, Path] | None = None
    measured: dict[str, Measurement] = field(default_factory=dict)

    @classmethod
    def of(cls, nest: TunedNest, job: Job, seconds: float = 0.5, script: HoledScript | None = None) -> NestEvaluator:
        """The evaluator of a nest, of points of a script where there is one. PlanishError E0927 where the function
        cannot be called or timed here, E0110 as of `require_sizes`."""
        function, file, options = nest.function, job.file, job.options
        signature = signature_of(function)
        if signature is None:
            message = f"`{function.name}` cannot be tuned: {why_not(function)}"
            raise PlanishError(Diagnostic("E0927", message, function.span), file.given)
        if job.bench.runner.command or job.bench.runner.missing:
            message = f"nothing can be timed for {job.target.name}: this is another machine"
            raise PlanishError(Diagnostic("E0927", message, help="tune on that machine, and take its record along"))
        own = [x for x in function.regions if not x.unseen]
        others = tuple(lower_plan(plan_region(x, options, job.target), options, 1) for x in own if x is not nest.region)
        plans = [x for x in others if x.prepared is not None]
        mine = RegionPlan(nest.region, nest.plan.context.nest, (), ())
        plans += [mine] if mine.prepared is not None else []
        known = tuple(known_arguments(x, function, file.source.text) for x in plans)
        require_sizes(function, known, options.sizes, file.source)
        cases = check_cases(function, known, options.sizes)
        clocks = clock_cases(function, known, options.sizes, file.source)
        finder = BranchFinder(file.source.text, function, signature, known)
        return cls(nest, job, signature, others, tuple(cases), clocks, finder, seconds, script)

    def evaluate(self, point: Point, best: float) -> Measurement:
        """What comes of a point; `best`: the least ratio so far."""
        made = self._make(point)
        script = "" if self.script is None else self.script.fill(point)
        if isinstance(made, Measurement):
            return replace(made, script=script)
        code = key("code", made.text)
        if code in self.measured and best < inf:
            return replace(self.measured[code], script=script, message="the same code as of another point")
        found = replace(self._measure(made, best), code=code, script=script)
        if found.outcome != "stopped":
            self.measured[code] = found
        return found

    def _make(self, point: Point) -> DropIn | Measurement:
        """The text with a point's version in it; made in another process, within bounds."""

        def make(at: Point, tell: Progress) -> DropIn | str:
            version = self._lower(at)
            if isinstance(version, str):
                return version
            mine = RegionPlan(self.nest.region, self.nest.plan.context.nest, (version,), ())
            plans = tuple(sorted((mine, *self.others), key=lambda x: x.region.start))
            made, _ = make_drop_ins(plans, self.job.file, self.job.options)
            return next((x for x in made if x.label == version.name), "it is not written as C")

        (made,) = run_apart(make, [point], MAKING)
        match made:
            case str():
                return Measurement("illegal", message=made)
            case Lost(cause="processor" | "wall"):
                return Measurement("timeout", message="its analysis takes too long")
            case Lost(cause=cause, how=how):
                return Measurement("died", message=f"its analysis: {cause} {how}".strip())
            case _:
                return made

    def _lower(self, point: Point) -> AnyVersion | str:
        """The version at a point, or why there is none."""
        plan = self.nest.plan
        if self.script is None:
            return lower_at(plan, point) or "strategies make nothing of it"
        steps = Source(self.script.source.name, self.script.fill(point))
        try:
            made = lower_plan(plan, replace(self.job.options, script=steps))
        except PlanishError as error:
            return error.diagnostic.message
        return made.versions[0] if made.versions else "; ".join(x.message for x in made.remarks)

    def _measure(self, version: DropIn, best: float) -> Measurement:
        verified = self._verify(version)
        if isinstance(verified, Measurement):
            return verified
        found = Measurement("ok", calls=verified.cases_run, worst=verified.worst_relative)
        try:
            library = compile_shipped(version, self.signature, self.job.bench)
            if self.rival is None or self.clock is None:
                return self._begin(found, library)
            return self._race(found, (version.label, library), best)
        except ClockError as error:
            outcome: TrialOutcome = "crash" if error.too_large else "timeout"
            return replace(found, outcome=outcome, message=error.diagnostic.message)
        except PlanishError as error:
            return replace(found, outcome="compile", message=error.diagnostic.message)

    def _verify(self, version: DropIn) -> Verdict | Measurement:
        """The verdict on a version that computes the same and was seen to run, or what is wrong with it."""
        job, bench = self.job, self.job.bench
        try:
            library = bench.build_checked(version, (self.signature,))
        except PlanishError as error:
            return Measurement("compile", message=error.diagnostic.message)
        while self.cases:
            verdict = compare_calls(version, job.reference, library, self.signature, self.cases, bench)
            match verdict.status:
                case "ok":
                    break
                case "not comparable":
                    self.cases = without_failed(self.cases, verdict)
                case "mismatch" | "weak":
                    return Measurement("wrong", message=verdict.message)
                case "timeout":
                    return Measurement("timeout", message=verdict.message)
                case "crashed" | "memory":
                    return Measurement("crash", message=verdict.message)
        else:
            return Measurement("wrong", message="the original comes through no call that could be made up")
        outcome, self.cases, _ = exercise(
            version, verdict, library, job.reference, self.signature, self.cases, bench, self.finder.find
        )
        return outcome[0] if isinstance(outcome, tuple) else Measurement("wrong", message=outcome.message)

    def _begin(self, found: Measurement, library: Path) -> Measurement:
        """The default's own times, which all others are measured beside."""
        bench = self.job.bench
        if self.rival is not None:
            return found
        label = "default"
        self.clock, (timing,) = measure_first(
            [(label, library)], self.signature, self.clocks, self.seconds, 3, bench.threads
        )
        self.rival = (label, library)
        return replace(found, value=timing.median, reference=timing.median, samples=timing.samples)

    def begin_with_original(self) -> None:
        """The function as it was written is what others are measured beside: the default version is of no use."""
        bench = self.job.bench
        self.rival = build_rival(self.job.reference, self.signature, bench)
        self.clock, _ = measure_first([self.rival], self.signature, self.clocks, self.seconds, 1, bench.threads)

    def _race(self, found: Measurement, own: tuple[str, Path], best: float) -> Measurement:
        assert self.rival is not None and self.clock is not None
        both, bench = [(ORIGINAL, self.rival[1]), own], self.job.bench

        def run(seconds: float, rounds: int) -> tuple[Timing, ...]:
            assert self.clock is not None
            return measure(both, self.signature, self.clock, seconds, rounds, bench.threads)

        reference, timing = run(FIRST_PART * self.seconds, 1)
        if timing.median <= HOPELESS * min(best, 1.0) * reference.median:
            more = run((1 - FIRST_PART) * self.seconds, 3)
            reference, timing = reference.joined(more[0]), timing.joined(more[1])
        else:
            found = replace(found, outcome="stopped", message="it cannot win")
        return replace(found, value=timing.median, reference=reference.median, samples=timing.samples)
