"""How much is done at once: where registers are too few, less and less.

>>> plan = PackPlan(96, rolls=True, overlaps=False)
>>> plan.calmer("V", ())
PackPlan(unroll=0, longer={}, ordered=False, hoists=False, rolls=True, lean=frozenset(), overlaps=False, steady=0)
>>> plan.calmer("V", ()).calmer("V", ()).ordered
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.allocate import TooFewRegisters
from planish.vliw.pack.reports import LoopReport, Packed
from planish.vliw.program import StreamProgram

MOST_STEADY = 4
"""So often loops are scheduled with a limit of registers, SPARE more of which are left over each time: those that are
pairs of neighbours leave gaps."""

SPARE = 2


@dataclass(frozen=True, slots=True)
class PackPlan:
    """How much is done at once: with fewer registers, blocks are not put into the prologues and epilogues of loops
    (`overlaps`), then, where pipelined loops want no more than there are, blocks stay in the order in which they stand,
    and loops whose iterations follow one another are scheduled with a limit of registers, more and more of which are
    left over (`steady`), then loops get kernels that take few of them (`lean`: these), then longer intervals (`longer`
    than these), then they are modulo scheduled where that is no gain but for values that live less long (`rolls`), then
    none is unrolled and nothing moved out of them, then operations are issued in the order in which they stand."""

    unroll: int
    longer: Mapping[str, int] = field(default_factory=dict)
    ordered: bool = False
    hoists: bool = True
    rolls: bool = False
    lean: frozenset[str] = frozenset()
    overlaps: bool = True
    steady: int = 0

    def calmer(self, file: str, reports: Sequence[LoopReport], outside: bool = False) -> PackPlan | None:
        """A plan that takes fewer registers of a file; None where there is none. `outside`: no pipelined loop wants
        more of them than there are."""
        if self.overlaps:
            return replace(self, overlaps=False)
        most = MOST_STEADY if any(x.method == "list" for x in reports) else 1
        if outside and not self.ordered and self.steady < most:
            return replace(self, steady=self.steady + 1)
        # Iterations that begin later overlap less: each loop that wants registers of that file is made slower.
        pressed = self.pressed(file, reports)
        names = {x.name for x in pressed}
        if not names <= self.lean:
            return replace(self, lean=self.lean | names)
        if pressed:
            return self.slower(pressed)
        if not self.rolls and any(x.method == "list" for x in reports):
            return replace(self, rolls=True)
        if self.unroll or self.hoists:
            return PackPlan(0, ordered=self.ordered, hoists=False, rolls=self.rolls, overlaps=False)
        return None if self.ordered else PackPlan(0, ordered=True, hoists=False, rolls=self.rolls, overlaps=False)

    def pressed(self, file: str, reports: Sequence[LoopReport]) -> list[LoopReport]:
        """The pipelined loops that want registers of a file."""
        return [x for x in reports if x.method != "list" and file in x.registers]

    def slower(self, pressed: Sequence[LoopReport], step: int | None = None) -> PackPlan:
        """With longer intervals for some loops: by so many cycles, but no longer than those at which they are still
        pipelined; without a step these, and once they have these, longer ones."""
        room = (x.longest - x.interval for x in pressed)
        steps = [max(1, x if step is None else min(x, step)) for x in room]
        longer = {x.name: x.interval + y for x, y in zip(pressed, steps, strict=True)}
        return replace(self, longer={**self.longer, **longer})


class NotWorthwhile(Exception):
    """Packets would take longer than whoever asks for them has use for."""


@dataclass(frozen=True, slots=True)
class PackAttempt:
    """What came of a plan: packets, or which registers are too few. `outside`: only between its loops; `hopeless`: they
    are too few for any plan."""

    packed: Packed | None
    few: TooFewRegisters | None = None
    reports: Sequence[LoopReport] = ()
    hopeless: bool = False
    outside: bool = False


def follow(plan: PackPlan, attempt: Callable[[PackPlan], PackAttempt]) -> PackAttempt:
    """What comes of a plan, or of the least calm one that has registers; the last failure where none has. Where the
    longest intervals do not help, shorter ones are not tried."""
    slowed: _Slowed | None = None
    while True:
        made = attempt(plan)
        if made.hopeless:
            return made
        if made.few is None:
            return made if slowed is None else slowed.shortest(made, attempt)
        calmer = plan.calmer(made.few.file, made.reports, made.outside)
        if calmer is None:
            return made
        slowed = _Slowed(plan, plan.pressed(made.few.file, made.reports)) if calmer.longer != plan.longer else None
        plan = calmer


@dataclass(frozen=True, slots=True)
class _Slowed:
    """A plan with too few registers for some loops, which have the longest intervals in the next one."""

    plan: PackPlan
    pressed: Sequence[LoopReport]

    def shortest(self, made: PackAttempt, attempt: Callable[[PackPlan], PackAttempt]) -> PackAttempt:
        """What comes of the shortest step with which there are registers; `made`: of the longest one."""
        fails, fits = 0, max((x.longest - x.interval for x in self.pressed), default=0)
        while fits - fails > 1:
            middle = (fails + fits) // 2
            tried = attempt(self.plan.slower(self.pressed, middle))
            if tried.few is None:
                fits, made = middle, tried
            else:
                fails = middle
        return made


def too_few(program: StreamProgram, machine: VliwMachine, few: TooFewRegisters) -> PlanishError:
    """That a program wants more registers than the machine has."""
    count = machine.file(few.file).count
    message = f"{program.name} wants {few.wanted} registers of {few.file} at once; {machine.name} has {count}"
    return PlanishError(Diagnostic("E0912", message))
