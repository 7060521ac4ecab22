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
from collections.abc import Iterator, Sequence
from dataclasses import replace

from planish.vliw.machine import LOOP_WORDS, VliwMachine, bytes_of, operand_names
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

_OPERAND = re.compile(r"\{(\w+)(?::(\w+))?\}")
_WORD = re.compile(r"[^\s(]+")


def print_assembly(code: PacketCode, machine: VliwMachine) -> str:
    """The packets of code over the machine's own registers, in the form that the description gives."""
    lines: list[str] = []
    at: dict[int, list[str]] = {}
    for label, place in code.labels.items():
        at.setdefault(place, []).append(machine.assembly.label.format(label=label))
    for number in range(len(code.packets)):
        lines += [*at.get(number, []), *_packet(_with_targets(code, number, machine), machine)]
    return "\n".join([*lines, *at.get(len(code.packets), [])])


def _with_targets(code: PacketCode, number: int, machine: VliwMachine) -> Packet:
    """A packet in which operations that begin hardware loops name the first packet of theirs: where the next jump goes
    that counts in the same register."""
    return tuple(
        replace(x, instr=replace(x.instr, operands=(*x.instr.operands, Label(_loop_from(code, number, x.instr)))))
        if f"{{{LOOP_WORDS[0]}}}" in machine.operation(x.instr.operation).text
        and not machine.operation(x.instr.operation).branch
        else x
        for x in code.packets[number]
    )


def _loop_from(code: PacketCode, number: int, start: Instr) -> str:
    counters = {x for x in start.operands if isinstance(x, StreamRegister)}
    for packet in code.packets[number:]:
        for x in packet:
            if x.instr.guard is not None and x.instr.guard.register in counters:
                return next(y.name for y in x.instr.operands if isinstance(y, Label))
    raise ValueError(f"nothing ends the loop that {start} begins")


def print_bundle(packet: Packet, machine: VliwMachine, more: Sequence[str] = ()) -> list[str]:
    """The lines of a packet, with other operations at its end, which have no unit."""
    return list(_packet(packet, machine, more))


def _packet(packet: Packet, machine: VliwMachine, more: Sequence[str] = ()) -> Iterator[str]:
    form = machine.assembly
    issued = [x for x in packet if machine.operation(x.instr.operation).text]
    ends = [x.instr for x in issued if machine.operation(x.instr.operation).loop]
    issued = [x for x in issued if not machine.operation(x.instr.operation).loop]
    if machine.interlocked:
        # In the order of the text, loads read what memory held before; nothing need stand where nothing is issued.
        issued.sort(key=lambda x: machine.kind(x.instr.operation) == "store")
        if not issued and not ends and not more:
            return
    elif not issued and not more:
        yield form.empty
        return
    if form.before:
        yield form.before
    texts = [*(spell(x.instr, machine, x.unit) for x in issued), *more]
    for i, text in enumerate(texts):
        yield (form.others if i else form.first).format(operation=text)
    if not texts:
        yield form.empty
    behind = "".join(_ending(x, machine) for x in ends)
    if form.behind or behind:
        yield form.behind + behind


def _ending(instr: Instr, machine: VliwMachine) -> str:
    """What stands behind a packet at the end of a hardware loop."""
    assert instr.guard is not None
    counter = _register(instr.guard.register, machine)
    return machine.operation(instr.operation).text.replace(f"{{{LOOP_WORDS[1]}}}", counter)


def spell(instr: Instr, machine: VliwMachine, unit: str = "") -> str:
    """One operation in assembly, on a unit."""
    operation = machine.operation(instr.operation)
    names = operand_names(operation.definition, operation.branch)
    labels = [x.name for x in instr.operands if isinstance(x, Label)]
    plain = [x for x in instr.operands if not isinstance(x, Label)] if not operation.branch else instr.operands
    widths = {x.name: bytes_of(x) for x in operation.definition.arrays} if operation.scaled else {}
    operands = {n: _operand(x, machine, widths.get(n, 1)) for n, x in zip(names, plain, strict=True)}
    operands |= dict.fromkeys(LOOP_WORDS[:1], labels[0]) if labels and not operation.branch else {}
    given = dict(zip(names, plain, strict=True)) if operation.pairs else {}
    text = _OPERAND.sub(
        lambda found: _pair(given[found[1]], given[found[2]], machine) if found[2] else operands[found[1]],
        operation.text,
    )
    if unit and machine.assembly.unit:
        text = _WORD.sub(lambda found: found[0] + machine.assembly.unit.format(unit=unit), text, count=1)
    return _guard(instr.guard, machine) + text


def _pair(high: Operand, low: Operand, machine: VliwMachine) -> str:
    """Two neighbouring registers as one."""
    assert isinstance(high, StreamRegister) and isinstance(low, StreamRegister)
    return machine.assembly.pair.format(high=high.name, low=low.name)


def _guard(guard: Guard | None, machine: VliwMachine) -> str:
    if guard is None:
        return ""
    form = machine.assembly.negated if guard.negated else machine.assembly.guard
    return form.format(register=_register(guard.register, machine))


def _operand(operand: Operand, machine: VliwMachine, width: int = 1) -> str:
    """An operand; constant offsets and steps in units of so many bytes."""
    match operand:
        case StreamRegister():
            return _register(operand, machine)
        case Immediate(value=value):
            return str(value)
        case Label(name=name):
            return name
        case MemoryAddress(base=base, offset=offset, step=step):
            form = machine.assembly.moving if step != 0 else machine.assembly.address
            places = (_amount(offset, machine, width), _amount(step, machine, width))
            return form.format(base=_register(base, machine), offset=places[0], step=places[1])


def _amount(x: int | StreamRegister, machine: VliwMachine, width: int) -> str:
    return _register(x, machine) if isinstance(x, StreamRegister) else str(x // width)


def _register(register: StreamRegister, machine: VliwMachine) -> str:
    """A register as assembly spells it; one that is not the machine's by its own name."""
    if not register.name.isdigit():
        return register.name
    file = machine.file(register.file)
    return (file.text or f"{file.name}{{number}}").format(number=int(register.name) + file.first)
