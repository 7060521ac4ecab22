"""Operations that stand for several: no single one does it, and selection takes them for one.

>>> from planish.vliw.description import load_machine
>>> a, b, c = (StreamRegister("V", x) for x in "abc")
>>> for x in spelt_out((Instr("VMPYW", (c, a, b)),), load_machine("hexagon")): print(x)
VMPYIEO V.c, V.a, V.b
VMPYIEACC V.c, V.a, V.b
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from planish.core.span import Source
from planish.vliw.machine import MachineOperation, VliwMachine, operand_names
from planish.vliw.program import Guard, Immediate, Instr, Item, Loop, Operand, StreamRegister
from planish.vliw.text import parse_program

_GIVEN = "given_"
"""What the names of operands begin with where a sequence is read."""


def spelt_out(items: Sequence[Item], machine: VliwMachine) -> tuple[Item, ...]:
    """The items with the operations that each such one stands for in its place."""
    if not any(x.sequence for x in machine.operations):
        return tuple(items)
    return tuple(_items(items, machine, count(1)))


def _items(items: Sequence[Item], machine: VliwMachine, numbers: Iterator[int]) -> Iterator[Item]:
    for x in items:
        if isinstance(x, Loop):
            yield replace(x, body=tuple(_items(x.body, machine, numbers)))
        elif machine.operation(x.operation).sequence:
            yield from _parts(x, machine, next(numbers))
        else:
            yield x


def _parts(instr: Instr, machine: VliwMachine, number: int) -> Iterator[Instr]:
    """The operations of one, over its operands and registers of their own."""
    operation = machine.operation(instr.operation)
    operands = dict(zip(operand_names(operation.definition), instr.operands, strict=True))
    given = {f"{_GIVEN}{x}": y for x, y in operands.items()}
    numbers = tuple((x, y.value) for x, y in operands.items() if isinstance(y, Immediate))

    def named(operand: Operand) -> Operand:
        if not isinstance(operand, StreamRegister):
            return operand
        return given.get(operand.name, StreamRegister(operand.file, f"{operand.name}~{number}"))

    for x in _read(operation, machine, numbers):
        guard = instr.guard
        if x.guard is not None:
            register = named(x.guard.register)
            assert isinstance(register, StreamRegister)
            guard = Guard(register, x.guard.negated)
        yield replace(x, operands=tuple(named(y) for y in x.operands), guard=guard, span=instr.span)


def _read(
    operation: MachineOperation, machine: VliwMachine, numbers: tuple[tuple[str, float], ...]
) -> tuple[Instr, ...]:  # fmt: skip
    """The operations, over registers that are named as the operands. PlanishError E0721 where the text is none."""
    key = (id(machine), operation.name, numbers)
    known = _KNOWN.get(key)
    if known is None or known[0] is not machine:
        named = {x.name: f"{x.memory}.{_GIVEN}{x.name}" for x in operation.definition.arrays}
        named |= {x: f"#{value}" for x, value in numbers}
        lines = [x.format(**named) for x in operation.sequence]
        text = f"program {operation.name}\n" + "\n".join(lines) + "\n"
        program = parse_program(Source(f"sequence of {operation.name}", text), machine)
        known = _KNOWN[key] = (machine, tuple(x for x in program.body if isinstance(x, Instr)))
    return known[1]


_KNOWN: dict[tuple[int, str, tuple[tuple[str, float], ...]], tuple[VliwMachine, tuple[Instr, ...]]] = {}
