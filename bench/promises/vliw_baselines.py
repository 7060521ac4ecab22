"""What nests take on a VLIW machine without what is measured: one vector at a time, no tiles, nothing pipelined.

naive_vector(result, load_machine("ftmatrix"))
"""

from __future__ import annotations

from planish.build.packets import PacketResult
from planish.build.vliw_machines.packet_runs import fault_or_difference, run_packets
from planish.core.diagnostic import PlanishError
from planish.options import Options
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.packing import pack
from planish.vliw.pack.reports import PackOptions
from planish.vliw.program import PacketCode
from planish.vliw.streams.lower import LoweredStream
from planish.vliw.streams.oracle import draw_values
from planish.vliw.streams.plan import plain_vectors
from planish.vliw.streams.stream import RefusedError


def naive_vector(result: PacketResult, machine: VliwMachine, options: Options | None = None) -> int:
    """What the nest takes in vectors, one at a time, list-scheduled: the same loop in lanes as in its packets, nothing
    pipelined; 0 where it has none, or that is not right."""
    return untiled(result, machine, options, PackOptions(pipeline=False, unroll=0))


def untiled(
    result: PacketResult, machine: VliwMachine, options: Options | None = None, packing: PackOptions | None = None
) -> int:  # fmt: skip
    """What the nest takes in the same lanes, one vector and one row at a time; 0 where it has none, or that is not
    right."""
    planned, asked = result.loops or result.planned, options or Options()
    if planned is None or not planned.tiles:
        return 0
    try:
        made = plain_vectors(planned, machine, asked.fp != "strict", packing or PackOptions())
    except (RefusedError, PlanishError):
        return 0
    return _right_cycles(result, made.packed.code, made.lowered, machine)


def unpipelined(result: PacketResult, machine: VliwMachine) -> int:
    """What the same stream takes where nothing is pipelined or unrolled, of loops where there are such; 0 where it has
    no packets, or wrong ones."""
    planned = result.loops or result.planned
    if planned is None or result.message:
        return 0
    try:
        packed = pack(planned.lowered.program, machine, PackOptions(pipeline=False, unroll=0))
    except PlanishError:
        return 0
    return _right_cycles(result, packed.code, planned.lowered, machine)


def _right_cycles(result: PacketResult, code: PacketCode, lowered: LoweredStream, machine: VliwMachine) -> int:
    """What packets take for the sizes of a result; 0 where they are not right."""
    assert result.planned is not None
    kernel = result.planned.source
    values = draw_values(kernel, result.sizes)
    run = run_packets(code, lowered, machine, values)
    return 0 if fault_or_difference(run, lowered, kernel, machine, values) else run.cycles
