"""Makes and verifies points of a nest: a version, its C, its library, and that it computes what the original does.

builder = PointBuilder.of(nest, job)
builder.build(space.default).calls
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from planish.run.workbench import DropIn
from planish.schedule.arguments import Point
from planish.tuning.measurement import Measurement
from planish.tuning.points.built_point import BuiltPoint, RaceSetup
from planish.tuning.points.feedback import Feedback
from planish.tuning.spaces.script_space import HoledScript
from planish.tuning.tasks import TunedNest

MAKING = Bounds(cpu=60.0, wall=300.0)
"""For the analysis of one point."""
ORIGINAL = "source file"
"""What the function as it was written is called in races."""


@dataclass(slots=True)
class PointBuilder:
    """Builds points of one nest of a function. `others`: how the function's other nests stay; `cases`: calls that check
    it, as far as the original comes through them; `clocks`: those that may be timed; `idle`: where nests begin that no
    call runs."""

    nest: TunedNest
    job: Job
    signature: Signature
    others: tuple[RegionPlan, ...]
    cases: tuple[CallCase, ...]
    clocks: Sequence[CallCase]
    finder: BranchFinder
    script: HoledScript | None = None
    feedback: tuple[Feedback, ...] = ("time",)
    idle: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls, nest: TunedNest, job: Job, script: HoledScript | None = None, feedback: tuple[Feedback, ...] = ("time",)
    ) -> PointBuilder:  # fmt: skip
        """The builder of a nest, of points of a script where there is one. PlanishError E0927 where the function cannot
        be called or measured here, E0110 as of `require_sizes`."""
        function, file, options = nest.function, job.file, job.options
        signature = signature_of(function)
        if signature is None:
            message = f"`{function.name}` cannot be tuned: {why_not(function)}"
            raise PlanishError(Diagnostic("E0927", message, function.span), file.given)
        if job.bench.runner.missing or (job.bench.runner.command and "time" in feedback):
            message = f"nothing can be timed for {job.target.name}: this is another machine"
            advice = "tune on that machine, and take its record along"
            if job.bench.runner.command:
                advice += "; `--feedback size` needs no clock"
            raise PlanishError(Diagnostic("E0927", message, help=advice))
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
        return cls(nest, job, signature, others, tuple(cases), clocks, finder, script, feedback)

    def setup(self, seconds: float) -> RaceSetup:
        """How its points are measured, in races of some seconds."""
        return RaceSetup(self.signature, tuple(self.clocks), self.job.bench.threads, seconds, self.feedback)

    def build(self, point: Point) -> BuiltPoint | Measurement:
        """A point that computes the same, or what is wrong with it."""
        script = "" if self.script is None else self.script.fill(point)
        made = self.make(point)
        built = made if isinstance(made, Measurement) else self.check(made)
        if self._leave_idle():
            return self.build(point)
        return replace(built, script=script)

    def _leave_idle(self) -> bool:
        """Leaves other nests as they were written that no call runs, as builds do; whether there were such."""
        left = tuple(x for x in self.others if x.region.start not in self.idle)
        found, self.others = len(left) < len(self.others), left
        return found

    def build_original(self) -> BuiltPoint:
        """The function as it was written, beside which points are timed where the default version is of no use."""
        label, library = build_rival(self.job.reference, self.signature, self.job.bench)
        return BuiltPoint(label, key("code", self.job.reference.text), library.read_bytes())

    def make(self, point: Point) -> DropIn | Measurement:
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

    def check(self, version: DropIn) -> BuiltPoint | Measurement:
        """A version with its library, verified, or what is wrong with it."""
        code = key("code", version.text)
        verified = self._verify(version)
        if isinstance(verified, Measurement):
            return replace(verified, code=code)
        try:
            library = compile_shipped(version, self.signature, self.job.bench).read_bytes()
        except PlanishError as error:
            return Measurement("compile", message=error.diagnostic.message, code=code)
        return BuiltPoint(
            version.label, code, library, calls=verified.cases_run, worst=verified.worst_relative
        )  # fmt: skip

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
        outcome, self.cases, self.idle = exercise(
            version, verdict, library, job.reference, self.signature, self.cases, bench, self.finder.find
        )
        return outcome[0] if isinstance(outcome, tuple) else Measurement("wrong", message=outcome.message)
