"""Parameters that are wanted now and then, such as the addresses of arrays, wait in registers of another file where
their own has too few.

>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import MemoryAddress, StreamParameter
>>> p, q, v, n = (StreamRegister(*x) for x in (("AR", "p"), ("AR", "q"), ("S", "v"), ("S", "n")))
>>> loops = tuple(Loop("i", n, (Instr("SLDW", (v, MemoryAddress(x))),)) for x in (p, q))
>>> given = (StreamParameter("p", p, "SM"), StreamParameter("q", q, "SM"), StreamParameter("n", n))
>>> made = park(StreamProgram("k", given, loops), "AR", Described(load_machine("ftmatrix")))
>>> for x in made.body: print(x if isinstance(x, Instr) else x.body[0])
SMVAAG S.q', AR.q
SLDW S.v, *AR.p[0]
SMVAGA AR.q'0, S.q'
SLDW S.v, *AR.q'0[0]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from planish.vliw.pack.allocate import rename
from planish.vliw.pack.effects import Described
from planish.vliw.pack.webs import Registers
from planish.vliw.program import Instr, Item, Loop, StreamProgram, StreamRegister


def park(program: StreamProgram, file: str, described: Described) -> StreamProgram | None:
    """The program with its parameters in a file in another one while they are not used; None where none of them lives
    through a loop that does not use it, or no other file can hold them."""
    other = _other_file(file, described)
    if other is None:
        return None
    uses = [_mentioned(x, described) for x in program.body]
    written = {y for x in program.body for y in _written(x, described)}
    given = [x.register for x in program.parameters if x.register.file == file and x.register not in written]
    places = {x: [n for n, own in enumerate(uses) if x in own] for x in given}
    loops = [n for n, x in enumerate(program.body) if isinstance(x, Loop)]
    idle = {x for x, used in places.items() if used and any(n < used[-1] and n not in used for n in loops)}
    if not idle:
        return None
    homes = {x: StreamRegister(other, f"{x.name}'") for x in given if x in idle}
    body: list[Item] = [described.move(homes[x], x) for x in homes]
    here: dict[StreamRegister, StreamRegister] = {}
    count = 0
    for item, own in zip(program.body, uses, strict=True):
        for register in (x for x in homes if x in own and x not in here):
            here[register] = StreamRegister(file, f"{register.name}'{count}")
            count += 1
            body.append(described.move(here[register], homes[register]))
        body.append(_renamed(item, here))
        if isinstance(item, Loop):
            here = {}
    return replace(program, body=tuple(body))


def _other_file(file: str, described: Described) -> str | None:
    """The largest file to and from which registers of another one are copied, all of them."""
    machine, ways = described.machine, set(described.moves.values())
    wide = [x for x in machine.files if x.name != file and x.bits >= machine.file(file).bits]
    wide = [x for x in wide if {(x.name, file), (file, x.name)} <= ways]
    return max(wide, key=lambda x: x.count).name if wide else None


def _instrs(item: Item) -> Iterator[Instr]:
    if isinstance(item, Instr):
        yield item
    else:
        for x in item.body:
            yield from _instrs(x)


def _written(item: Item, described: Described) -> Registers:
    return frozenset(y.register for x in _instrs(item) for y in described.effects(x).writes)


def _mentioned(item: Item, described: Described) -> Registers:
    return frozenset(y for x in _instrs(item) for y in described.effects(x).reads) | frozenset(_counts((item,)))


def _counts(items: Sequence[Item]) -> Iterator[StreamRegister]:
    for x in items:
        if isinstance(x, Loop):
            if isinstance(x.count, StreamRegister):
                yield x.count
            yield from _counts(x.body)


def _renamed(item: Item, names: Mapping[StreamRegister, StreamRegister]) -> Item:
    if isinstance(item, Instr):
        return rename(item, names)
    count = names.get(item.count, item.count) if isinstance(item.count, StreamRegister) else item.count
    return replace(item, count=count, body=tuple(_renamed(x, names) for x in item.body))
