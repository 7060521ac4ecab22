"""Packets as a function that C calls: arguments are where the convention has them, registers are kept, and it returns.

>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import Instr, Issue, MemoryAddress, StreamParameter
>>> r0, r1 = StreamRegister("R", "0"), StreamRegister("R", "1")
>>> store = Issue(Instr("STW", (MemoryAddress(r0), r1)), "S0")
>>> code = PacketCode("put", ((store,),), {}, (StreamParameter("p", r0, "MEM"), StreamParameter("x", r1)))
>>> print(print_subroutine(code, load_machine("hexagon"), "put"))
put:
  {
    memw(r0+#0) = r1
    jumpr r31
  }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from planish.vliw.assembly import print_assembly, print_bundle
from planish.vliw.calling import Calling
from planish.vliw.machine import VliwMachine
from planish.vliw.program import Label, MemoryAddress, PacketCode, StreamRegister

_WORD = 4
"""Bytes of an argument on the stack."""
_PAIR = 8
"""Bytes of two registers that are saved."""


def print_subroutine(code: PacketCode, machine: VliwMachine, name: str) -> str:
    """The lines of a function `name`, whose parameters are those of the code in their order, a register each."""
    calling = machine.calling
    assert calling is not None
    local = _with_local_labels(code, name)
    pairs = _saved_pairs(local, calling)
    room = -(-_PAIR * len(pairs) // _PAIR) * _PAIR
    lines = [machine.assembly.label.format(label=name)]
    on_stack = local.parameters[len(calling.arguments) :]
    # They are loaded once registers are saved, above what these take.
    first = room if pairs else 0
    loads = [
        calling.stacked.format(register=_spelt(x.register, machine), offset=first + _WORD * i)
        for i, x in enumerate(on_stack)
    ]
    places = [{"first": a, "second": b, "offset": _PAIR * i} for i, (a, b) in enumerate(pairs)]
    if pairs:
        lines += _bundles([calling.grow.format(bytes=room)], machine, 1)
        lines += _bundles([calling.save.format(**x) for x in places], machine, calling.together)
    lines += _bundles(loads, machine, calling.together)
    body = print_assembly(local, machine).splitlines()
    restored = [calling.restore.format(**x) for x in places]
    ended = [calling.shrink.format(bytes=room)] if pairs else []
    last = local.packets[-1] if local.packets else ()
    if not pairs and _has_room(local, machine, calling):
        body = print_assembly(replace(local, packets=local.packets[:-1]), machine).splitlines()
        return "\n".join([*lines, *body, *print_bundle(last, machine, (calling.leave,))])
    lines += [*body, *_bundles(restored, machine, calling.together)]
    return "\n".join([*lines, *_bundles([*ended, calling.leave], machine, 2)])


def _with_local_labels(code: PacketCode, name: str) -> PacketCode:
    """The code whose labels begin with the function's name, and are no symbols of the file."""

    def renamed(label: str) -> str:
        return f".L{name}_" + "".join(x if x.isalnum() or x == "_" else "_" for x in label)

    packets = tuple(
        tuple(
            replace(x, instr=replace(x.instr, operands=tuple(
                Label(renamed(y.name)) if isinstance(y, Label) else y for y in x.instr.operands
            )))
            for x in packet
        )
        for packet in code.packets
    )  # fmt: skip
    return replace(code, packets=packets, labels={renamed(k): v for k, v in code.labels.items()})


def _saved_pairs(code: PacketCode, calling: Calling) -> list[tuple[int, int]]:
    """The registers that are used and to be kept, with their neighbours."""
    used = {x for packet in code.packets for issue in packet for x in _registers(issue.instr.operands)}
    used |= {x.register for x in code.parameters}
    pairs = zip(calling.saved[::2], calling.saved[1::2], strict=True)
    named = {(x.file, x.name) for x in used}
    return [(a[1], b[1]) for a, b in pairs if any((x[0], str(x[1])) in named for x in (a, b))]


def _registers(operands: Iterable[object]) -> Iterator[StreamRegister]:
    for x in operands:
        match x:
            case StreamRegister():
                yield x
            case MemoryAddress(base=base, offset=offset, step=step):
                yield base
                yield from (y for y in (offset, step) if isinstance(y, StreamRegister))
            case _:
                pass


def _has_room(code: PacketCode, machine: VliwMachine, calling: Calling) -> bool:
    """Whether the last packet is always the last one that runs, and takes the jump back as well."""
    if not code.packets or len(code.packets) in code.labels.values() or not calling.units:
        return False
    last = code.packets[-1]
    if any(machine.operation(x.instr.operation).branch for x in last):
        return False
    parts = machine.parts()
    taken = {y.name for x in last for y in parts[x.unit]}
    sides = [y.side for x in last for y in parts[x.unit]]
    return any(
        unit not in taken and sides.count(machine.unit(unit).side) < machine.sides[machine.unit(unit).side]
        for unit in calling.units
    )


def _bundles(texts: list[str], machine: VliwMachine, together: int) -> Iterator[str]:
    for i in range(0, len(texts), together):
        yield from print_bundle((), machine, tuple(texts[i : i + together]))


def _spelt(register: StreamRegister, machine: VliwMachine) -> str:
    file = machine.file(register.file)
    return file.text.format(number=int(register.name) + file.first)
