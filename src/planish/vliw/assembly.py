"""Packets as the machine's assembler reads them.

>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import Issue
>>> load = Instr("VLDW", (StreamRegister("V", "3"), MemoryAddress(StreamRegister("AR", "1"), 0, 128)))
>>> s4, no = StreamRegister("S", "4"), Guard(StreamRegister("S", "2"), negated=True)
>>> add = Instr("SADDI", (Immediate(-1), s4, s4), no)
>>> code = PacketCode("c", ((Issue(load, "VLDST1"), Issue(add, "SIEU")), ()), {"top": 0}, ())
>>> print(print_assembly(code, load_machine("ftmatrix")))
top:
    VLDW.VLDST1 *AR1[0]++[128], VR3
||  [!R2] SADDI.SIEU -1, R4, R4
    NOP
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planish.vliw.machine import VliwMachine, operand_names
from planish.vliw.program import (
    Guard,
    Immediate,
    Instr,
    Label,
    MemoryAddress,
    Operand,
    Packet,
    PacketCode,
    StreamRegister,
)

_OPERAND = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"[^\s(]+")


def print_assembly(code: PacketCode, machine: VliwMachine) -> str:
    """The packets of code over the machine's own registers, in the form that the description gives."""
    lines: list[str] = []
    at: dict[int, list[str]] = {}
    for label, place in code.labels.items():
        at.setdefault(place, []).append(machine.assembly.label.format(label=label))
    for number, packet in enumerate(code.packets):
        lines += [*at.get(number, []), *_packet(packet, machine)]
    return "\n".join([*lines, *at.get(len(code.packets), [])])


def _packet(packet: Packet, machine: VliwMachine) -> Iterator[str]:
    form = machine.assembly
    if not packet:
        yield form.empty
        return
    if form.before:
        yield form.before
    for i, issue in enumerate(packet):
        text = spell(issue.instr, machine, issue.unit)
        yield (form.others if i else form.first).format(operation=text)
    if form.behind:
        yield form.behind


def spell(instr: Instr, machine: VliwMachine, unit: str = "") -> str:
    """One operation in assembly, on a unit."""
    operation = machine.operation(instr.operation)
    names = operand_names(operation.definition, operation.branch)
    operands = dict(zip(names, (_operand(x, machine) for x in instr.operands), strict=True))
    text = _OPERAND.sub(lambda found: operands[found[1]], operation.text)
    if unit:
        text = _WORD.sub(lambda found: found[0] + machine.assembly.unit.format(unit=unit), text, count=1)
    return _guard(instr.guard, machine) + text


def _guard(guard: Guard | None, machine: VliwMachine) -> str:
    if guard is None:
        return ""
    form = machine.assembly.negated if guard.negated else machine.assembly.guard
    return form.format(register=_register(guard.register, machine))


def _operand(operand: Operand, machine: VliwMachine) -> str:
    match operand:
        case StreamRegister():
            return _register(operand, machine)
        case Immediate(value=value):
            return str(value)
        case Label(name=name):
            return name
        case MemoryAddress(base=base, offset=offset, step=step):
            form = machine.assembly.moving if step != 0 else machine.assembly.address
            places = (_amount(offset, machine), _amount(step, machine))
            return form.format(base=_register(base, machine), offset=places[0], step=places[1])


def _amount(x: int | StreamRegister, machine: VliwMachine) -> str:
    return _register(x, machine) if isinstance(x, StreamRegister) else str(x)


def _register(register: StreamRegister, machine: VliwMachine) -> str:
    """A register as assembly spells it; one that is not the machine's by its own name."""
    if not register.name.isdigit():
        return register.name
    return (machine.file(register.file).text or f"{register.file}{{number}}").format(number=register.name)
