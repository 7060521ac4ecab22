"""An instruction's definition: operands, a result, and a nest whose statements put bits into the result or into memory.

>>> from planish.isa.semantics import build
>>> from planish.isa.semantics.node import const, var
>>> i = var("i", 4)
>>> at = build.multiply(i, const(8))
>>> total = build.wrap(build.add(build.bits("a", at, 8), build.bits("b", at, 8)), 8)
>>> loop = LaneLoop("i", 4, (Put("out", at, 8, total),))
>>> Definition((Operand("a", 32), Operand("b", 32)), Operand("out", 32), (loop,)).puts[0].width
8
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from planish.isa.semantics.build import ONE
from planish.isa.semantics.node import Node

Role = Literal["value", "immediate", "memory"]


@dataclass(frozen=True, slots=True)
class Operand:
    """Bits that come in or go out. An immediate is known when a program is compiled; of memory, `bits` are those that
    an
    address reaches at most where that is known (0 where it is not). `element`: the format of the floats that it holds,
    "f32" for instance, or "" for whole numbers and mere bits."""

    name: str
    bits: int
    role: Role = "value"
    element: str = ""


@dataclass(frozen=True, slots=True)
class Put:
    """Bits of a target become a value, where a condition holds."""

    target: str
    offset: Node
    width: int
    value: Node
    when: Node = ONE


@dataclass(frozen=True, slots=True)
class LaneLoop:
    """Statements for each value of a counter, from 0 to count - 1."""

    var: str
    count: int
    body: tuple[Statement, ...]


Statement = Put | LaneLoop


@dataclass(frozen=True, slots=True)
class Definition:
    """Operands, the result (None where all goes to memory), and the nest. Bits of the result that nothing is put into
    are not defined."""

    operands: tuple[Operand, ...]
    result: Operand | None
    body: tuple[Statement, ...]

    @property
    def puts(self) -> tuple[Put, ...]:
        """The statements within all loops."""
        return tuple(put for put, _ in nested_puts(self.body))

    def operand(self, name: str) -> Operand:
        """The operand of a name, or the result; KeyError where there is none."""
        found = {x.name: x for x in (*self.operands, self.result) if x is not None}
        return found[name]


def nested_puts(
    body: Sequence[Statement], around: tuple[LaneLoop, ...] = ()
) -> Iterator[tuple[Put, tuple[LaneLoop, ...]]]:
    """Each statement that puts, with the loops around it, outermost first."""
    for statement in body:
        if isinstance(statement, LaneLoop):
            yield from nested_puts(statement.body, (*around, statement))
        else:
            yield statement, around
