"""How packets are made, and what is told of them: options, and a report for each innermost loop and straight block.

>>> bound = IntervalBound(4, "4 operations keep A for 4 of them")
>>> print(LoopReport("k", "modulo", 6, 4, bound, IntervalBound(1, "no recurrence"), 2, 1, {"V": 3}))
k: II 4 (modulo), which is the least (4 operations keep A for 4 of them); ResMII 4, RecMII 1; 2 stages, kernel of \
1 iterations; registers: 3 of V
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from planish.core.span import Span
from planish.vliw.pack.bounds import IntervalBound
from planish.vliw.pack.effects import Effects
from planish.vliw.pack.modulo.exact import IntervalProof
from planish.vliw.pack.passes import PacketPasses
from planish.vliw.program import PacketCode

PackMethod = Literal["list", "modulo", "flat"]
"""Iterations one after the other, overlapping, or so few that no jump is left."""


@dataclass(frozen=True, slots=True)
class PackOptions:
    """How packets are made. `pipeline`: iterations of innermost loops overlap; `unroll`: loops whose iterations come to
    so many operations or fewer, for certain, become straight code; `beam`: how many partial schedules of a block are
    followed where list scheduling misses its lower bound (0: none); `exact`: deterministic seconds that the exact
    solver has for each interval of each loop, to prove or improve it (0: it is not asked); `ordered`: operations of
    straight code are issued in the order in which they stand, which whoever wrote them has chosen."""

    pipeline: bool = True
    unroll: int = 96
    beam: int = 4
    exact: float = 0.0
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class LoopReport:
    """What became of an innermost loop.

    `interval`: cycles from one iteration to the next; `resources` and `recurrences` bound it from below. `stages`: how
    many iterations are under way at once; `unroll`: how many begin in a pass of the kernel (0: there is none);
    `registers`: MaxLive of each file; `operations`: how many an iteration has; `proof`: what searches have shown;
    `spans`: where the operations of the recurrence come from; `longest`: with a longer interval it is not pipelined.
    """

    name: str
    method: PackMethod
    operations: int
    interval: int
    resources: IntervalBound
    recurrences: IntervalBound
    stages: int = 1
    unroll: int = 1
    registers: Mapping[str, int] = field(default_factory=dict)
    proof: IntervalProof | None = None
    spans: tuple[Span, ...] = ()
    longest: int = 0

    @property
    def least(self) -> int:
        """No interval is shorter: MII, or what has been proven beyond it."""
        proven = self.proof.least if self.proof else 0
        return max(self.resources.interval, self.recurrences.interval, proven)

    def __str__(self) -> str:
        """A line for people."""
        bound = self.resources if self.resources.interval >= self.recurrences.interval else self.recurrences
        gap = "which is the least" if self.interval == self.least else f"at least {self.least}"
        files = ", ".join(f"{count} of {file}" for file, count in sorted(self.registers.items()))
        return (
            f"{self.name}: II {self.interval} ({self.method}), {gap} ({bound.reason}); ResMII "
            f"{self.resources.interval}, RecMII {self.recurrences.interval}; {self.stages} stages, kernel of "
            f"{self.unroll} iterations; registers: {files or 'not counted'}{self._lifetimes()}"
        )

    def _lifetimes(self) -> str:
        if self.proof is None or not self.proof.lifetimes:
            return ""
        gap = 100 * (self.proof.lifetimes - self.proof.shortest) // self.proof.lifetimes
        return f"; lifetimes {self.proof.lifetimes} cycles in all, {gap} % above what is proven"


@dataclass(frozen=True, slots=True)
class BlockReport:
    """A straight block from packet `start` on; no schedule of it has fewer packets than `least`."""

    start: int
    operations: int
    length: int
    least: int


@dataclass(frozen=True, slots=True)
class Packed:
    """The packets of a program, and what became of its loops and blocks, in the order in which they stand; `passes`:
    which packets run again."""

    code: PacketCode
    loops: tuple[LoopReport, ...]
    blocks: tuple[BlockReport, ...] = ()
    passes: tuple[PacketPasses, ...] = ()


def spans_of(nodes: Sequence[Effects], bound: IntervalBound) -> tuple[Span, ...]:
    """The places of the operations of a recurrence, each once."""
    spans = (nodes[n].instr.span for n in bound.operations)
    return tuple(dict.fromkeys(x for x in spans if x is not None))
