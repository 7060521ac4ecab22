"""What a program means: its operations one after the other, each of which sees all before it.

>>> from planish.ir.types import I64
>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import Immediate, StreamRegister
>>> from planish.vliw.simulator.state import make_state
>>> machine, x = load_machine("ftmatrix"), StreamRegister("S", "x")
>>> body = (Instr("SADDID", (Immediate(3), x, x)),)
>>> interpret(StreamProgram("p", (), (Loop("l", 4, body),)), machine, make_state(machine)).register(x, I64)
12
"""

from __future__ import annotations

from collections.abc import Iterable

from planish.vliw.machine import VliwMachine
from planish.vliw.operands import check_operands, refuse
from planish.vliw.program import Instr, Item, Loop, StreamProgram, StreamRegister
from planish.vliw.simulator.execution import Fault, MachineFault, OperationEffect, execute, number_in, passes
from planish.vliw.simulator.state import MachineState
from planish.vliw.simulator.transfers import block_of, channel_of, perform


def interpret(
    program: StreamProgram, machine: VliwMachine, state: MachineState, most: int = 100_000_000
) -> MachineState:
    """The state after a program, which starts in `state`; that one stays as it is.

    Raises MachineFault where an access leaves its memory or is not aligned, or after `most` operations; PlanishError
    E0720 for operands that an operation does not take.
    """
    _check(program.body, machine)
    after = state.copy()
    _Run(machine, after, most).items(program.body)
    return after


def _check(items: Iterable[Item], machine: VliwMachine) -> None:
    for x in items:
        if isinstance(x, Loop):
            _check(x.body, machine)
            continue
        problem = check_operands(x, machine)
        if not problem and machine.operation(x.operation).branch:
            problem = f"{x.operation} is a jump, which a program of loops does not have"
        if problem:
            raise refuse(problem, x)


class _Run:
    """A run under way: the operations that may still be done."""

    def __init__(self, machine: VliwMachine, state: MachineState, left: int) -> None:
        self.machine, self.state, self.left = machine, state, left

    def items(self, items: tuple[Item, ...]) -> None:
        for x in items:
            if isinstance(x, Loop):
                count = number_in(x.count, self.state) if isinstance(x.count, StreamRegister) else x.count
                for _ in range(count):
                    self.items(x.body)
            else:
                self.one(x)

    def one(self, instr: Instr) -> None:
        self.left -= 1
        if self.left < 0:
            raise MachineFault(Fault("endless", "the program does not end in as many operations as it may do", instr))
        if not passes(instr, self.state):
            return
        kind = self.machine.operation(instr.operation).transfer
        if kind == "start":
            perform(block_of(instr, self.machine, self.state), self.state)
        elif kind == "wait":
            channel_of(instr, self.machine)
        else:
            apply(execute(instr, self.machine, self.state), self.state)


def apply(effect: OperationEffect, state: MachineState) -> None:
    """Write all that an operation writes."""
    for register, raw in effect.registers:
        state.registers[register] = raw
    if effect.stored is not None:
        memory, address, raw = effect.stored
        state.memories[memory][address : address + len(raw)] = raw
    if effect.update is not None:
        state.registers[effect.update[0]] = effect.update[1]
