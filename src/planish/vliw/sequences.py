"""Operations that stand for several: no single one does it, and selection takes them for one.

>>> from planish.vliw.description import load_machine
>>> a, b, c = (StreamRegister("V", x) for x in "abc")
>>> for x in spelt_out((Instr("VMPYW", (c, a, b)),), load_machine("hexagon")): print(x)
VMPYIEO V.c, V.a, V.b
VMPYIEACC V.c, V.a, V.b
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from planish.core.span import Source
from planish.vliw.machine import MachineOperation, VliwMachine, operand_names
from planish.vliw.program import Instr, Item, Loop, Operand, StreamRegister
from planish.vliw.text import parse_program

_GIVEN = "given_"
"""What the names of operands begin with where a sequence is read."""


def spelt_out(items: Sequence[Item], machine: VliwMachine) -> tuple[Item, ...]:
    """The items with the operations that each such one stands for in its place."""
    known = {x.name: _read(x, machine) for x in machine.operations if x.sequence}
    return tuple(_items(items, machine, known, count(1))) if known else tuple(items)


def _items(
    items: Sequence[Item], machine: VliwMachine, known: Mapping[str, tuple[Instr, ...]], numbers: Iterator[int]
) -> Iterator[Item]:
    for x in items:
        if isinstance(x, Loop):
            yield replace(x, body=tuple(_items(x.body, machine, known, numbers)))
        elif x.operation in known:
            yield from _parts(x, machine, known[x.operation], next(numbers))
        else:
            yield x


def _parts(instr: Instr, machine: VliwMachine, sequence: Sequence[Instr], number: int) -> Iterator[Instr]:
    """The operations of one, over its operands and registers of their own."""
    names = operand_names(machine.operation(instr.operation).definition)
    given = {f"{_GIVEN}{x}": y for x, y in zip(names, instr.operands, strict=True)}

    def named(operand: Operand) -> Operand:
        if not isinstance(operand, StreamRegister):
            return operand
        return given.get(operand.name, StreamRegister(operand.file, f"{operand.name}~{number}"))

    for x in sequence:
        yield replace(x, operands=tuple(named(y) for y in x.operands), guard=instr.guard, span=instr.span)


def _read(operation: MachineOperation, machine: VliwMachine) -> tuple[Instr, ...]:
    """The operations, over registers that are named as the operands. PlanishError E0721 where the text is none."""
    named = {x.name: f"{x.memory}.{_GIVEN}{x.name}" for x in operation.definition.arrays}
    lines = [x.format(**named) for x in operation.sequence]
    text = f"program {operation.name}\n" + "\n".join(lines) + "\n"
    program = parse_program(Source(f"sequence of {operation.name}", text), machine)
    return tuple(x for x in program.body if isinstance(x, Instr))
