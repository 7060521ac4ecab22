"""What the e-graph's terms are: scalars, vectors of them, moves between lanes, and stores.

A vector has as many lanes as the machine's; lanes beyond what is asked for hold anything. A head is an expression over
operands, of scalars or of each lane alike.

>>> from planish.ir.types import F32
>>> head_of("x + y * z", F32).operands, str(ApplyTerm(head_of("x * y", F32), True))
(('x', 'y', 'z'), 'lanes x * y')
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from planish.ir.expr import Expr, Load, Var, type_of
from planish.ir.text.operator_names import TypeScope
from planish.ir.text.parser import parse_expr
from planish.ir.text.printer import print_expr
from planish.ir.traverse import map_expr, walk_expr
from planish.ir.types import Type


@dataclass(frozen=True, slots=True)
class TermHead:
    """An expression whose operands are the variables `operands`, in that order."""

    value: Expr
    operands: tuple[str, ...]
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.value, self.operands)))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return print_expr(self.value)


@dataclass(frozen=True, slots=True)
class ElementTerm:
    """An element of an array in memory, as it is when the kernel starts."""

    array: str
    place: int
    type: Type


@dataclass(frozen=True, slots=True)
class NumberTerm:
    """A constant."""

    value: float
    type: Type


@dataclass(frozen=True, slots=True)
class ScalarTerm:
    """A scalar that the kernel is given."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class ApplyTerm:
    """An operation on scalars, or on each lane."""

    head: TermHead
    lanes: bool = False

    def __str__(self) -> str:
        return f"{'lanes ' if self.lanes else ''}{self.head}"


@dataclass(frozen=True, slots=True)
class SumTerm:
    """The sum of all operands, in any order."""

    type: Type


@dataclass(frozen=True, slots=True)
class LanesTerm:
    """A vector of scalars, one for each lane: what is to be vectorised. It is no operation."""


@dataclass(frozen=True, slots=True)
class TakeTerm:
    """A vector of which only some lanes are asked for. It is no operation."""

    asked: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AnyTerm:
    """What a lane holds that nobody asks for."""


@dataclass(frozen=True, slots=True)
class WindowTerm:
    """Neighbours in memory from `place` on, one in each lane, as they are when the kernel starts."""

    array: str
    place: int
    type: Type


@dataclass(frozen=True, slots=True)
class ConstantsTerm:
    """A vector of constants."""

    values: tuple[float, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class BroadcastTerm:
    """A scalar in all lanes."""


@dataclass(frozen=True, slots=True)
class SpreadTerm:
    """An element of an array in memory in all lanes."""

    array: str
    place: int
    type: Type


@dataclass(frozen=True, slots=True)
class PermuteTerm:
    """Lane l is lane `lanes[l]` of the operands one after the other. `operation`, with the number `immediate` where it
    takes one, does it; where it takes a vector of lane numbers, that is the last operand (`is_table`)."""

    lanes: tuple[int, ...]
    operation: str
    immediate: int | None = None
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class InsertTerm:
    """A vector with a scalar in one of its lanes."""

    lane: int
    operation: str


@dataclass(frozen=True, slots=True)
class ExtractTerm:
    """One of the lanes of a vector."""

    lane: int
    operation: str


@dataclass(frozen=True, slots=True)
class TotalTerm:
    """The sum of all lanes."""

    operation: str


@dataclass(frozen=True, slots=True)
class VectorStore:
    """The first `count` lanes go to neighbours in memory; what the others do there does not matter."""

    array: str
    place: int
    count: int


@dataclass(frozen=True, slots=True)
class ElementStore:
    """A scalar goes to memory."""

    array: str
    place: int


@dataclass(frozen=True, slots=True)
class ConcatTerm:
    """Stores one after the other."""


@lru_cache(maxsize=256)
def head_of(text: str, type: Type) -> TermHead:
    """An operation from its text, all of whose operands are of one type."""
    names = tuple(dict.fromkeys(re.findall(r"[a-z]\w*", text)))
    return TermHead(parse_expr(text, TypeScope(dict.fromkeys(names, type))), names)


def with_operands(head: TermHead, operands: dict[str, Expr]) -> Expr:
    """The expression over some operands."""
    return map_expr(lambda x: operands[x.name] if isinstance(x, Var) and x.name in operands else x, head.value)


def operand_types(head: TermHead) -> tuple[Type, ...]:
    """The types of a head's operands."""
    found = {x.name: x.type for x in walk_expr(head.value) if isinstance(x, Var)}
    return tuple(found[x] for x in head.operands)


def result_type(head: TermHead) -> Type:
    """What an operation makes."""
    return type_of(head.value)


def cell(name: str, type: Type, lane: Expr | None) -> Load:
    """What stands for a value in a register: one of each lane, or one."""
    return Load(name, () if lane is None else (lane,), type)
