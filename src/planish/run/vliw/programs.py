"""Programs of VLIW machines run from nothing: arrays laid out in memories and filled, numbers put into registers.

>>> from planish.ir.types import F32
>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import StreamParameter, StreamRegister
>>> x = StreamParameter("x", StreamRegister("AR", "1"), "AM", F32, 4)
>>> prepared = prepare((x,), load_machine("ftmatrix"), {})
>>> prepared.places["x"], prepared.values(prepared.state, x).tolist()
(0, [-8.0, -1.0, 6.0, -4.0])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.fork_pool import Bounds, Lost, run_apart
from planish.ir.types import I64
from planish.run.toolchains.toolchain import find_compilers
from planish.run.vliw.simulator import simulator_for
from planish.vliw.machine import VliwMachine
from planish.vliw.program import PacketCode, StreamParameter
from planish.vliw.simulator.cycles import SimulatedRun, simulate
from planish.vliw.simulator.execution import Fault
from planish.vliw.simulator.state import LARGEST, MachineState, make_state

_BOUNDS = Bounds(cpu=300)
"""What a simulation may take."""

_APART = 64
"""Arrays begin at multiples of so many bytes, or of what their memory asks for."""


@dataclass(frozen=True, slots=True)
class PreparedCode:
    """A machine before a program runs, and where its arrays are."""

    state: MachineState
    places: Mapping[str, int]

    def values(self, state: MachineState, parameter: StreamParameter) -> np.ndarray[Any, Any]:
        """The elements that an array has in a state."""
        assert parameter.type is not None
        return state.array(parameter.memory, self.places[parameter.name], parameter.type, parameter.count)


def prepare(parameters: Sequence[StreamParameter], machine: VliwMachine, values: Mapping[str, float]) -> PreparedCode:
    """Arrays one after the other in their memories, element k being 7 k modulo 17, less 8; numbers as `values` says, or
    as the parameter does.

    PlanishError E0722 for a number that nobody tells, an array without a type and a length, a value for what is no
    number of the program, or arrays that a memory does not hold.
    """
    for name in values:
        if all(x.name != name or x.memory for x in parameters):
            known = ", ".join(x.name for x in parameters if not x.memory) or "none"
            raise PlanishError(Diagnostic("E0722", f"'{name}' is no number of the program", help=f"numbers: {known}"))
    places: dict[str, int] = {}
    filled: dict[str, int] = {}
    for x in (x for x in parameters if x.memory):
        if x.type is None:
            advice = f"write `param {x.name}: {x.register} in {x.memory} f32[100]`"
            raise PlanishError(Diagnostic("E0722", f"the array '{x.name}' has no type and length", help=advice))
        memory = machine.memory(x.memory)
        step = max(_APART, memory.alignment)
        places[x.name] = -(-filled.get(x.memory, 0) // step) * step
        filled[x.memory] = places[x.name] + x.count * x.type.size
        if filled[x.memory] > memory.bytes:
            message = f"the arrays take {filled[x.memory]} bytes of {x.memory}, which has {memory.bytes}"
            raise PlanishError(Diagnostic("E0722", message, help="make them shorter"))
    sizes = {x.name: max(filled.get(x.name, 0), min(x.bytes, LARGEST)) for x in machine.memories}
    state = make_state(machine, sizes)
    for x in parameters:
        if x.memory and x.type is not None:
            state.set_register(x.register, places[x.name], I64)
            numbers = np.arange(x.count) * 7 % 17 - 8
            state.set_array(x.memory, places[x.name], numbers.astype(x.type.numpy))
            continue
        value = values.get(x.name, x.value)
        if value is None:
            raise PlanishError(Diagnostic("E0722", f"nobody says what '{x.name}' is", help=f"--set {x.name}=…"))
        state.set_register(x.register, value, x.type or I64)
    return PreparedCode(state, places)


_EXTENDED: dict[tuple[int, frozenset[str]], tuple[VliwMachine, VliwMachine]] = {}


def _with_used(machine: VliwMachine, names: frozenset[str]) -> VliwMachine:
    """The machine with those operations among its own that are used of its library."""
    others = names - {x.name for x in machine.operations}
    if not others:
        return machine
    known = _EXTENDED.get((id(machine), others))
    if known is None or known[0] is not machine:
        more = tuple(machine.operation(x) for x in sorted(others))
        known = machine, replace(machine, operations=(*machine.operations, *more))
        _EXTENDED[id(machine), others] = known
    return known[1]


def run_code(code: PacketCode, machine: VliwMachine, state: MachineState, most: int) -> SimulatedRun:
    """What comes of packets: in C where there is a compiler, in a process of its own. RuntimeError where that crashes;
    a fault where it takes longer than it may."""
    if not find_compilers():
        return simulate(code, machine, state, most)
    simulator = simulator_for(_with_used(machine, frozenset(x.instr.operation for y in code.packets for x in y)))
    (run,) = run_apart(lambda given, _: simulator.run(code, given, most), (state,), _BOUNDS)
    match run:
        case Lost(cause="crash" | "depth", how=how):
            raise RuntimeError(f"the simulator of {machine.name} ends with {how}")
        case Lost(cause=cause, how=how):
            message = f"the simulation was ended ({how or cause}): it may take {_BOUNDS.cpu:.0f} seconds"
            return SimulatedRun(0, state, (Fault("endless", message, None, 0, 0),), (0,) * len(code.packets))
        case _:
            return run
