"""Strips of vectors in the instructions that were selected for them, as packets: of some forms the one that takes the
fewest cycles.

    plan_strips(region.kernel, load_machine("hexagon"), options)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from planish.build.vliw_machines.packet_runs import affordable_sizes
from planish.core.diagnostic import PlanishError, Remark
from planish.ir.nest import Kernel
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.packet_strips import StripProgram, packet_strips
from planish.poly.isl.affine import NotAffineError
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.packing import pack
from planish.vliw.pack.passes import PacketPasses
from planish.vliw.pack.plans import NotWorthwhile
from planish.vliw.streams.lower import LoweredStream, lower
from planish.vliw.streams.plan import Planned, estimate, issued_for
from planish.vliw.streams.programs.selected import Alignment
from planish.vliw.streams.stream import RefusedError

POINTERS = (6, 1)
"""So many addresses move in a loop: with more of them less is added up in it, and there are fewer registers."""

_TIGHT = 1.2
"""Intervals of so many times the least that there can be leave nothing to forms with fewer rows."""

_SHORTER = 1.15
"""So many times as many cycles as the best packets may be left to those that have no registers yet: they get shorter by
that much at most where less is done at once, by and large."""

TYPICAL, _WIDE = 300, 1024
"""What sizes are near for which cycles are estimated, and what those are near where rows begin at multiples."""


@dataclass(frozen=True, slots=True)
class StripPlan:
    """The packets of a kernel in strips (None: there are none), its sizes for which cycles are told, the kernel with
    what has to hold of sizes, and what was refused."""

    planned: Planned | None
    sizes: Mapping[str, int]
    kernel: Kernel
    remarks: tuple[Remark, ...] = ()


def plan_strips(kernel: Kernel, machine: VliwMachine, contract: bool = True) -> StripPlan:
    """The best strips of a kernel."""
    if machine.library is None or not machine.target:
        return StripPlan(None, {}, kernel)
    remarks: list[Remark] = []
    best, chosen, rows = StripPlan(None, {}, kernel), None, _Rows()
    try:
        prepared = prepare(kernel).kernel
        for strips in packet_strips(prepared, load_target(machine.target), is_wanted=rows.are_wanted):
            if isinstance(strips, Remark):
                remarks.append(strips)
                continue
            needed = replace(prepared, assumptions=(*prepared.assumptions, *strips.needs))
            sizes = next(affordable_sizes(needed, (TYPICAL,)), {})
            form = _StripForm(strips, machine, contract, sizes)
            limit = best.planned.estimate if best.planned is not None else inf
            made = form.quickest(remarks, limit)
            if made is not None and made.estimate >= limit:
                made = None
            rows.note(made)
            if made is not None:
                best, chosen = StripPlan(made, sizes, needed), form
    except (NotAffineError, NoCover):
        return StripPlan(None, {}, kernel)
    if chosen is not None and best.planned is not None:
        # Rows that begin at multiples of a register's bytes are mostly those of large images.
        larger = (x for x in affordable_sizes(best.kernel, (_WIDE,)) if x.keys() == chosen.sizes.keys())
        wide = replace(chosen, sizes=next(larger, chosen.sizes))
        limit = estimate(best.planned.packed, best.planned.lowered, wide.sizes)
        aligned = wide.quickest(remarks, limit, aligned=True)
        if aligned is not None and aligned.estimate < limit:
            best = replace(best, planned=replace(best.planned, aligned=aligned))
    return replace(best, remarks=tuple(dict.fromkeys(remarks)))


@dataclass(slots=True)
class _Rows:
    """Which numbers of rows at a time are still of use: `asked` last, the most whose packets are the best and leave
    nothing to fewer (`tight`; -1: none yet), the fewest with others, or with none (`loose`)."""

    asked: int = 0
    tight: int = -1
    loose: float = inf

    def are_wanted(self, rows: int) -> bool:
        """Where some rows leave nothing to be won, only more are, as these share more; else only fewer, as more take
        more registers."""
        self.asked = rows
        return rows > self.tight if self.tight >= 0 else rows < self.loose

    def note(self, made: Planned | None) -> None:
        """What came of the rows that were asked for."""
        if made is not None and all(x.interval <= _TIGHT * x.least for x in made.packed.loops):
            self.tight = max(self.tight, self.asked)
        else:
            self.loose = min(self.loose, self.asked)


@dataclass(frozen=True, slots=True)
class _StripForm:
    """Strips of so many rows, and the sizes for which cycles are estimated."""

    strips: StripProgram
    machine: VliwMachine
    contract: bool
    sizes: Mapping[str, int]

    def is_worth(self, lowered: LoweredStream, limit: float, packets: int, passes: Sequence[PacketPasses]) -> bool:
        """Whether some packets, or calmer ones, may take fewer cycles than `limit`."""
        return float(issued_for(packets, passes, lowered, self.sizes)) < _SHORTER * limit

    def quickest(self, remarks: list[Remark], limit: float, aligned: bool = False) -> Planned | None:
        """The quickest packets of some numbers of addresses that move, if they take fewer cycles than `limit` by and
        large; why there are none is added to the remarks."""
        best: Planned | None = None
        refused: list[Remark] = []
        for pointers in POINTERS:
            try:
                made = _packed(self, pointers, Alignment() if aligned else None, limit)
            except NotWorthwhile:
                continue
            if isinstance(made, Remark):
                refused.append(made)
            elif best is None or made.estimate < best.estimate:
                best, limit = made, min(limit, made.estimate)
        remarks += refused if best is None else []
        return best


def _packed(form: _StripForm, pointers: int, alignment: Alignment | None, limit: float) -> Planned | Remark:
    strips, machine = form.strips, form.machine
    try:
        lowered = lower(
            strips.kernel, machine, form.contract, programs=strips.programs, pointers=pointers, alignment=alignment
        )  # fmt: skip
        packed = pack(lowered.program, machine, worth=partial(form.is_worth, lowered, limit))
    except RefusedError as error:
        return error.remark
    except PlanishError as error:
        return Remark("vliw-pack", "refused", f"{strips.described}: {error.diagnostic.message}", strips.kernel.span)
    cycles = estimate(packed, lowered, form.sizes)
    return Planned(
        strips.kernel, lowered, packed, (), cycles, strips.described, needs=strips.needs, alignment=alignment
    )  # fmt: skip
