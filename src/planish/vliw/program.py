"""A linear stream of a machine's operations over virtual registers, with counted loops; and the packets made of it.

A `StreamProgram` says what is done, one operation after the other, and nothing of latencies, units or packets: every
operation sees the results of all before it. `PacketCode` is what runs: packets over the registers that the machine has.

>>> a, b = StreamRegister("V", "a"), StreamRegister("V", "b")
>>> print(Instr("VADD", (b, a, a)))
VADD V.b, V.a, V.a
>>> there = MemoryAddress(StreamRegister("AR", "p"), 128, 256)
>>> print(Instr("VLDW", (a, there), Guard(StreamRegister("S", "c"), negated=True)))
[!S.c] VLDW V.a, *AR.p[128]++256
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planish.core.span import Span
from planish.ir.types import Type


@dataclass(frozen=True, slots=True, order=True)
class StreamRegister:
    """A register of a file: virtual where `name` is any name, the machine's own where it is a number."""

    file: str
    name: str

    def __str__(self) -> str:
        return f"{self.file}.{self.name}"


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant in the text of an operation."""

    value: int | float

    def __str__(self) -> str:
        return f"#{self.value}"


@dataclass(frozen=True, slots=True)
class MemoryAddress:
    """The bytes at `base` + `offset`; `base` moves on by `step` bytes after the access (0: it stays)."""

    base: StreamRegister
    offset: int | StreamRegister = 0
    step: int | StreamRegister = 0

    def __str__(self) -> str:
        return f"*{self.base}[{self.offset}]" + (f"++{self.step}" if self.step != 0 else "")


@dataclass(frozen=True, slots=True)
class Label:
    """Where a jump goes to."""

    name: str

    def __str__(self) -> str:
        return f"@{self.name}"


Operand = StreamRegister | Immediate | MemoryAddress | Label


@dataclass(frozen=True, slots=True)
class Guard:
    """The operation is done where the register is not zero (`negated`: where it is)."""

    register: StreamRegister
    negated: bool = False

    def __str__(self) -> str:
        return f"[{'!' if self.negated else ''}{self.register}]"


@dataclass(frozen=True, slots=True)
class AccessPlace:
    """What is known of the bytes that an access touches in iteration n of the innermost loop around it: those from
    `offset` + n * `stride` on, `bytes` of them, counted from a point that `group` names; accesses of one array whose
    groups differ may be anywhere in it, those of different arrays never meet. Without a `stride`, nothing is known of
    accesses in different iterations."""

    array: str
    group: str
    offset: int
    stride: int | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Instr:
    """One operation. `operands` are those of its definition, in that order: sizes and scalars, then arrays; a jump has
    its `Label`. `place`: what is known of its memory access (None: it may be any of that memory)."""

    operation: str
    operands: tuple[Operand, ...]
    guard: Guard | None = None
    place: AccessPlace | None = field(default=None, compare=False)
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        guard = f"{self.guard} " if self.guard else ""
        return f"{guard}{self.operation} {', '.join(map(str, self.operands))}".rstrip()


@dataclass(frozen=True, slots=True)
class Loop:
    """`body` as often as `count` says on entry (not at all where that is 0 or less).

    `at_least`, `multiple`: what is known of a count in a register. `name` is a label's beginning.
    """

    name: str
    count: int | StreamRegister
    body: tuple[Item, ...]
    at_least: int = 0
    multiple: int = 1
    span: Span | None = field(default=None, compare=False)

    @property
    def is_innermost(self) -> bool:
        """Whether no loop is in it."""
        return all(isinstance(x, Instr) for x in self.body)


Item = Instr | Loop


@dataclass(frozen=True, slots=True)
class StreamParameter:
    """A value that is in a register when the program starts: the address of an array in `memory`, or a number.

    `type` and `count`: the elements of the array, or the number's type, where they are told; `value`: what the number
    is where nobody says otherwise."""

    name: str
    register: StreamRegister
    memory: str = ""
    type: Type | None = None
    count: int = 0
    value: float | None = None


@dataclass(frozen=True, slots=True)
class StreamProgram:
    """A stream of operations with its parameters."""

    name: str
    parameters: tuple[StreamParameter, ...]
    body: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Issue:
    """An operation on a unit, in a packet."""

    instr: Instr
    unit: str


Packet = tuple[Issue, ...]
"""What is issued in one cycle; empty: nothing is."""


@dataclass(frozen=True, slots=True)
class PacketCode:
    """Packets in the order of addresses, the places that labels stand for, and where parameters are at the start.

    It ends behind its last packet, once all that is under way has been written.
    """

    name: str
    packets: tuple[Packet, ...]
    labels: Mapping[str, int]
    parameters: tuple[StreamParameter, ...]
