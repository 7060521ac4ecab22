"""Loops that are pipelined again and again, with other intervals each time: what is known of each is found once.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.program import Instr, StreamRegister
>>> mac = parse_kernel("kernel MAC(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] += a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 8, 128),), (),
...     (MachineOperation("MAC", "MAC {d}, {a}", mac, ("U",), latency=3),))
>>> d, a = StreamRegister("V", "d"), StreamRegister("V", "a")
>>> from planish.vliw.pack.modulo.pipelining import roll
>>> known = KnownLoops(Control(tiny), Described(tiny))
>>> loop = known.loop([Instr("MAC", (d, a))], frozenset({d}))
>>> roll(loop.problem, 0, 9, attempts=loop.attempts).least, list(loop.attempts.kernels)
(3, [3])
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from planish.vliw.pack.control import Control
from planish.vliw.pack.effects import Described
from planish.vliw.pack.modulo.iterative import LoopBody
from planish.vliw.pack.modulo.pipelining import KernelAttempts, Problem, prepare
from planish.vliw.pack.webs import Registers
from planish.vliw.program import Instr

_Key = tuple[tuple[int, ...], Registers]
_Shape = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class KnownLoop:
    """A loop's problem, and the kernels that were looked for."""

    instrs: Sequence[Instr]
    problem: Problem
    attempts: KernelAttempts


@dataclass(slots=True)
class KnownLoops:
    """Loops by the identity of their operations, which are kept for that; those whose operations differ in nothing but
    the names of registers have the same kernels."""

    control: Control
    described: Described
    _loops: dict[_Key, KnownLoop] = field(default_factory=dict)
    _attempts: dict[_Shape, KernelAttempts] = field(default_factory=dict)

    def loop(self, instrs: Sequence[Instr], wanted: Registers) -> KnownLoop:
        """What is known of a loop with these operations; `wanted`: registers that are read behind an iteration."""
        key = tuple(map(id, instrs)), wanted
        if key not in self._loops:
            problem = prepare(instrs, wanted, self.control, self.described)
            attempts = self._attempts.setdefault(_shape_of(problem.body), KernelAttempts())
            self._loops[key] = KnownLoop(instrs, problem, attempts)
        return self._loops[key]


def _shape_of(body: LoopBody) -> _Shape:
    """All that kernels of a loop depend on."""
    nodes = tuple(
        (
            x.kind, x.units, x.latency, x.busy, tuple(y.file for y in x.reads),
            tuple((y.register.file, y.latency) for y in x.writes),
        )
        for x in body.nodes
    )  # fmt: skip
    values = tuple((x.register.file, x.writers, x.readers, x.renamed) for x in body.values)
    return nodes, body.edges, values
