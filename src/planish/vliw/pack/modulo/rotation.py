"""Values that a loop carries from one iteration to later ones, each with a register of its own: rotating registers, by
names, on a machine that has no rotating file.

A register that an iteration sets once, and reads before that, holds the value of the iteration before: the read is of
that value at distance 1. A copy of one register to another only makes the distance longer; it is left out.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import MachineOperation, Unit, VliwMachine, VliwRegisterFile
>>> text = {"MV": "d[l] = a[l]", "ADD": "d[l] = a[l] + b[l]"}
>>> kernel = "kernel %s(d: f32[4] @V, a: f32[4] @V%s) { for l in 0 .. 4 { %s } }"
>>> made = [parse_kernel(kernel % (k, ", b: f32[4] @V" if k == "ADD" else "", v)) for k, v in text.items()]
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 8, 128),), (),
...     tuple(MachineOperation(x.name, x.name, x, ("U",)) for x in made))
>>> f, g, h = (StreamRegister("V", x) for x in "fgh")
>>> fibonacci = [Instr("ADD", (h, f, g)), Instr("MV", (g, f)), Instr("MV", (f, h))]
>>> found = rotate(fibonacci, frozenset({f, g}), Control(tiny), Described(tiny))
>>> for x in found.body: print(x)
ADD V.h, V.h^1, V.h^2
>>> [(d, str(x)) for d, x in sorted(found.homes[h].items())]
[(1, 'V.f'), (2, 'V.g')]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.vliw.pack.control import Control
from planish.vliw.pack.effects import Described
from planish.vliw.pack.webs import Registers
from planish.vliw.program import Guard, Instr, Label, MemoryAddress, Operand, StreamRegister

Carried = tuple[StreamRegister, int]
"""The value that a register is set to, so many iterations before."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """A loop's body over registers that are set anew in each iteration. `reads`: the names under which values of
    earlier iterations are read; `homes`: for each register that is carried, by the distance d, the register that holds
    the value of d iterations before the first one when the loop begins, and that of d before the end when it ends."""

    body: tuple[Instr, ...]
    reads: Mapping[StreamRegister, Carried] = field(default_factory=dict)
    homes: Mapping[StreamRegister, Mapping[int, StreamRegister]] = field(default_factory=dict)

    def slot(self, root: StreamRegister, count: int, iteration: int, end: int) -> StreamRegister:
        """The register that holds the value of an iteration, where values take turns with `count` registers in a loop
        of `end` iterations, or of a multiple of `count` more."""
        homes = self.homes.get(root)
        if not homes:
            return StreamRegister(root.file, f"{root.name}~{iteration % count}") if count > 1 else root
        place = (end - iteration) % count
        home = next((x for d, x in homes.items() if d % count == place), None)
        return home if home is not None else StreamRegister(root.file, f"{root.name}~{place}")

    def least_copies(self, root: StreamRegister) -> int:
        """How many registers a value takes turns with at least: those that hold some of it at the end."""
        return max(self.homes.get(root, {}), default=1)

    def moves(self, counts: Mapping[StreamRegister, int], end: int) -> list[tuple[StreamRegister, StreamRegister]]:
        """What is copied, all at once, before a loop of `end` iterations: to which register, from which."""
        found: list[tuple[StreamRegister, StreamRegister]] = []
        for root, homes in self.homes.items():
            for distance, home in homes.items():
                to = self.slot(root, counts.get(root, 1), -distance, end)
                found += [(to, home)] if to != home else []
        return found


def rotate(instrs: Sequence[Instr], after: Registers, control: Control, described: Described) -> Rotation:
    """The body of a loop with a name for each value that it carries; `after` are the registers that are wanted when
    the loop has ended, or when an iteration begins."""
    finder = _Finder(instrs, after, described, _settable(instrs, control, described))
    while True:
        found = finder.attempt()
        if found is not None:
            return found


def _settable(instrs: Sequence[Instr], control: Control, described: Described) -> dict[StreamRegister, int]:
    """The registers that are set once, for certain and without a look at what they held as the same operand; and
    where. Those that count or point are moved by constants, and stay as they are."""
    writes: dict[StreamRegister, list[int]] = {}
    others: set[StreamRegister] = set()
    for i, instr in enumerate(instrs):
        effects = described.effects(instr)
        for write in effects.writes:
            writes.setdefault(write.register, []).append(i)
            others |= set() if write.certain else {write.register}
        summed = control.is_sum(instr)
        others |= {summed[0]} if summed is not None else set()
        operands = [x for x in instr.operands if not isinstance(x, Label)]
        for operand, role in zip(operands, described.roles(instr.operation)[2], strict=True):
            if isinstance(operand, MemoryAddress) and operand.step != 0:
                others.add(operand.base)
            elif isinstance(operand, StreamRegister) and role is not None and role.read and role.written:
                others.add(operand)
    return {
        x: places[0]
        for x, places in writes.items()
        if len(places) == 1 and x not in others and not x.name.isdecimal()
        and x.file in described.copies.values()
    }  # fmt: skip


class _Finder:
    """Looks for a rotation; copies that turn out to be needed stay."""

    def __init__(
        self, instrs: Sequence[Instr], after: Registers, described: Described, places: Mapping[StreamRegister, int]
    ) -> None:
        self.instrs, self.after, self.described, self.places = instrs, after, described, places
        self.copied: dict[StreamRegister, StreamRegister] = {}
        for register, place in places.items():
            source = self._source(instrs[place])
            if source is not None and source in places:
                self.copied[register] = source

    def _source(self, instr: Instr) -> StreamRegister | None:
        """What an operation copies, and nothing else."""
        if instr.operation not in self.described.copies:
            return None
        source = instr.operands[1]
        return source if isinstance(source, StreamRegister) else None

    def value(self, register: StreamRegister, at: int) -> Carried | None:
        """The value that an operation sees in a register; None for copies that go round in a circle."""
        distance = 0
        for _ in range(len(self.places) + 1):
            place = self.places[register]
            distance += at <= place
            if register not in self.copied:
                return register, distance
            register, at = self.copied[register], place
        return None

    def attempt(self) -> Rotation | None:
        """A rotation; None where a copy is needed after all, which is known from now on."""
        homes: dict[StreamRegister, dict[int, StreamRegister]] = {}
        for register in sorted(self.places, key=lambda x: (x in self.copied, self.places[x])):
            if register not in self.after:
                continue
            found = self.value(register, len(self.instrs))
            if found is None or found[1] + 1 in homes.get(found[0], {}):
                del self.copied[register]
                return None
            homes.setdefault(found[0], {})[found[1] + 1] = register
        reads: dict[StreamRegister, Carried] = {}
        body: list[Instr] = []
        for i, instr in enumerate(self.instrs):
            written = {x.register for x in self.described.effects(instr).writes}
            if written & self.copied.keys():
                continue
            names: dict[StreamRegister, StreamRegister] = {}
            for register in self.described.effects(instr).reads:
                if register not in self.places:
                    continue
                found = self.value(register, i)
                if found is None:
                    del self.copied[register]
                    return None
                root, distance = found
                names[register] = StreamRegister(root.file, f"{root.name}^{distance}") if distance else root
                reads |= {names[register]: found} if distance else {}
            body.append(_reading(instr, names, self.described))
        return Rotation(tuple(body), reads, homes)


def _reading(instr: Instr, names: Mapping[StreamRegister, StreamRegister], described: Described) -> Instr:
    """An operation that reads other registers."""

    def renamed(operand: Operand, written: bool) -> Operand:
        match operand:
            case StreamRegister():
                return operand if written else names.get(operand, operand)
            case MemoryAddress(base=base, offset=offset, step=step):
                parts = (names.get(x, x) if isinstance(x, StreamRegister) else x for x in (offset, step))
                return MemoryAddress(names.get(base, base), *parts)
            case _:
                return operand

    operands = tuple(renamed(x, written) for x, written in _with_roles(instr, described))
    guard = instr.guard and Guard(names.get(instr.guard.register, instr.guard.register), instr.guard.negated)
    return replace(instr, operands=operands, guard=guard)


def _with_roles(instr: Instr, described: Described) -> Iterator[tuple[Operand, bool]]:
    roles = iter(described.roles(instr.operation)[2])
    for operand in instr.operands:
        role = None if isinstance(operand, Label) else next(roles)
        yield operand, role is not None and role.written
