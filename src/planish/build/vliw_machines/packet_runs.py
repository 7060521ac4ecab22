"""Packets in the simulator beside the meaning of their nest.

wrong_place(planned.packed.code, planned.lowered, planned.source, machine, draw_values(kernel, {"n": 5}))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planish.ir.expr import Binary, Call
from planish.ir.nest import Assign, For, Kernel, Reduce, Stmt
from planish.ir.traverse import blocks_of, variables, walk, walk_expr
from planish.run.vliw.nest_meaning import compiled_meaning
from planish.run.vliw.programs import run_code
from planish.vliw.machine import VliwMachine
from planish.vliw.program import PacketCode
from planish.vliw.simulator.cycles import SimulatedRun
from planish.vliw.streams.image import Values, excess, fill_state, read_arrays
from planish.vliw.streams.lower import LoweredStream
from planish.vliw.streams.oracle import difference, draw_values, meaning, sizes_for
from planish.vliw.streams.plan import Planned
from planish.vliw.tiling.footprints import trips_of

MOST_CYCLES = 200_000_000

MOST_WORK = 1 << 22
"""Iterations up to which all sizes of a nest are large at once."""

MOST_RUN = 1 << 25
"""Iterations that end in MOST_CYCLES, by and large."""

MOST_INTERPRETED = 1 << 20
"""Iterations up to which a nest is run by the reference interpreter, and not in C."""


def runs_on(planned: Planned, machine: VliwMachine, told: Mapping[str, int]) -> int:
    """What packets take, with the sizes that are told, which run as they are on another machine; 0 where they are not
    right there."""
    kernel, cycles = planned.source, 0
    for sizes in (*sizes_for(kernel), told):
        values = draw_values(kernel, sizes)
        if excess(planned.lowered, machine, values):
            return 0
        run = run_packets(planned.packed.code, planned.lowered, machine, values)
        if fault_or_difference(run, planned.lowered, kernel, machine, values):
            return 0
        cycles = run.cycles
    return cycles


def run_packets(code: PacketCode, lowered: LoweredStream, machine: VliwMachine, values: Values) -> SimulatedRun:
    """What packets do with values."""
    registers = {x.name: x.register for x in code.parameters}
    return run_code(code, machine, fill_state(lowered, machine, values, registers), MOST_CYCLES)


def wrong_place(code: PacketCode, lowered: LoweredStream, kernel: Kernel, machine: VliwMachine, values: Values) -> str:
    """Where packets do something else than a kernel; "" where they do not."""
    return fault_or_difference(run_packets(code, lowered, machine, values), lowered, kernel, machine, values)


def fault_or_difference(
    run: SimulatedRun, lowered: LoweredStream, kernel: Kernel, machine: VliwMachine, values: Values
) -> str:
    """What went wrong in a run, or where it left something else than a kernel; "" where it did not."""
    if run.faults:
        return str(run.faults[0])
    meant = compiled_meaning if work_of_nest(kernel, values) > MOST_INTERPRETED else meaning
    return difference(kernel, values, read_arrays(lowered, machine, values, run.state), meant)


def work_of_nest(kernel: Kernel, values: Values) -> int:
    """How often the innermost loops run, about."""
    trips = trips_of(kernel, {x: int(values[x]) for x in kernel.sizes})
    return max((_work_of(x, trips) for x in kernel.body.body), default=0)


def _work_of(stmt: Stmt, trips: Mapping[str, int]) -> int:
    inner = max((_work_of(y, trips) for x in blocks_of(stmt) for y in x.body), default=1)
    return inner * trips.get(stmt.var, 1) if isinstance(stmt, For) else inner


def affordable_sizes(kernel: Kernel, wanted: tuple[int, ...]) -> Iterator[dict[str, int]]:
    """Sizes near the wanted ones, each set once; where these are too much work, only those are that something has to
    hold of."""
    asked = {x for y in kernel.assumptions for x in variables(y)}
    seen: list[dict[str, int]] = []
    for n in wanted:
        for sizes in sizes_for(kernel, (n,)):
            affordable = work_of_nest(kernel, sizes) <= MOST_WORK
            for found in (sizes,) if affordable else sizes_for(kernel, (n,), asked):
                if found not in seen:
                    seen.append(found)
                    yield found


def typical_sizes(kernel: Kernel, wanted: tuple[int, ...]) -> dict[str, int]:
    """Sizes near the first wanted one with which packets come to an end in time; near the last one where none are."""
    found: dict[str, int] = {}
    for found in sizes_for(kernel, wanted):
        if work_of_nest(kernel, found) <= MOST_RUN:
            break
    return found


def multiplies(machine: VliwMachine, code: PacketCode, run: SimulatedRun) -> float:
    """The share of the slots of units that multiply in which one begins to."""
    names = {x.name for x in machine.operations if _multiplies(x.definition)}
    wide = {x for x in names if any(y.shape for y in machine.operation(x).definition.arrays)}
    used = {x.instr.operation for packet in code.packets for x in packet}
    names = wide if wide & used else names
    units = {y for x in names & used for y in machine.operation(x).units}
    counted = zip(code.packets, run.counts, strict=True)
    begun = sum(n * sum(x.instr.operation in names for x in packet) for packet, n in counted)
    return begun / (len(units) * run.cycles) if units and run.cycles else 0.0


def _multiplies(definition: Kernel) -> bool:
    values = [x.value for x in walk(definition.body) if isinstance(x, Assign | Reduce)]
    parts = [y for x in values for y in walk_expr(x)]
    product = any(isinstance(x, Binary) and x.op == "mul" for x in parts)
    return product or any(isinstance(x, Call) and x.function == "fma" for x in parts)
