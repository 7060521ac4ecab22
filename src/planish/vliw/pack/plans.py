"""How much is done at once: where registers are too few, less and less.

>>> plan = PackPlan(96, rolls=True, overlaps=False)
>>> plan.calmer("V", ())
PackPlan(unroll=0, longer={}, ordered=False, hoists=False, rolls=True, lean=frozenset(), overlaps=False)
>>> plan.calmer("V", ()).calmer("V", ()).ordered
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.allocate import TooFewRegisters
from planish.vliw.pack.reports import LoopReport
from planish.vliw.program import StreamProgram


@dataclass(frozen=True, slots=True)
class PackPlan:
    """How much is done at once: with fewer registers, blocks are not put into the prologues and epilogues of loops
    (`overlaps`), then loops get kernels that take few of them (`lean`: these), then longer intervals (`longer` than
    these), then they are modulo scheduled where that is no gain but for values that live less long (`rolls`), then none
    is unrolled and nothing moved out of them, then operations are issued in the order in which they stand."""

    unroll: int
    longer: Mapping[str, int] = field(default_factory=dict)
    ordered: bool = False
    hoists: bool = True
    rolls: bool = False
    lean: frozenset[str] = frozenset()
    overlaps: bool = True

    def calmer(self, file: str, reports: Sequence[LoopReport]) -> PackPlan | None:
        """A plan that takes fewer registers of a file; None where there is none."""
        if self.overlaps:
            return replace(self, overlaps=False)
        # Iterations that begin later overlap less: each loop that wants registers of that file is made slower.
        pressed = {x.name: x.interval + 1 for x in reports if x.method != "list" and file in x.registers}
        if not pressed.keys() <= self.lean:
            return replace(self, lean=self.lean | pressed.keys())
        if pressed:
            return replace(self, longer={**self.longer, **pressed})
        if not self.rolls and any(x.method == "list" for x in reports):
            return replace(self, rolls=True)
        if self.unroll or self.hoists:
            return PackPlan(0, ordered=self.ordered, hoists=False, rolls=self.rolls, overlaps=False)
        return None if self.ordered else PackPlan(0, ordered=True, hoists=False, rolls=self.rolls, overlaps=False)


def too_few(program: StreamProgram, machine: VliwMachine, few: TooFewRegisters) -> PlanishError:
    """That a program wants more registers than the machine has."""
    count = machine.file(few.file).count
    message = f"{program.name} wants {few.wanted} registers of {few.file} at once; {machine.name} has {count}"
    return PlanishError(Diagnostic("E0912", message))
