"""Merges the states after the two ways of a branch: values that are selected from, piece by piece.

>>> from planish.isa.semantics.node import const
>>> found = merge(build.bits("k", const(0), 1), SymbolicValue(const(1), 8), SymbolicValue(const(0), 8))
>>> found.node
bits('k', 1, False, const(0))
"""

from __future__ import annotations

from dataclasses import replace

from planish.isa.semantics import build
from planish.isa.semantics.node import Node
from planish.isa.vendors.symbolic_state import (
    BitAddress,
    NamedSymbol,
    RealNumber,
    Register,
    SymbolChoice,
    SymbolicValue,
    Unreadable,
    merge_registers,
    merge_values,
)
from planish.isa.vendors.x86.operators import Operand, as_float
from planish.isa.vendors.x86.tables import ladder

Held = Operand | Register | BitAddress
Scope = dict[str, Held]


def merge(condition: Node, one: Held | None, other: Held | None) -> Held | None:
    """What stands in a name after one of two ways; what only one of them sets has no other value."""
    if one is None or other is None or one is other:
        return one if one is not None else other
    match one, other:
        case SymbolicValue(), SymbolicValue():
            return merge_values(condition, one, other)
        case SymbolicValue(), RealNumber() if one.is_float:
            return merge(condition, one, as_float(other, one.kind))
        case RealNumber(), SymbolicValue() if other.is_float:
            return merge(condition, as_float(one, other.kind), other)
        case (NamedSymbol() | SymbolChoice()), (NamedSymbol() | SymbolChoice()):
            first = one.options if isinstance(one, SymbolChoice) else ((build.ONE, one),)
            second = other.options if isinstance(other, SymbolChoice) else ((build.ONE, other),)
            return SymbolChoice((*((build.conjoin(c, condition), x) for c, x in first), *second))
        case (Register(), _) | (_, Register()):
            return merge_registers(condition, _as_register(one), _as_register(other))
        case BitAddress(), BitAddress() if one.base == other.base:
            return BitAddress(one.base, build.select(condition, one.offset, other.offset), one.element)
        case _ if one == other:
            return one
        case _:
            raise Unreadable("two ways leave things that do not go together")


def _as_register(held: Held) -> Register:
    if isinstance(held, Register):
        return held
    if isinstance(held, SymbolicValue):
        return Register(background=held) if held.width else Register({0: (1, held)})
    raise Unreadable("two ways leave a register and something else")


def as_ladder(held: Held, subject: Node, labels: list[int]) -> Held:
    """What cases leave, with chains of them shortened where that is to be had."""
    match held:
        case SymbolicValue():
            return replace(held, node=ladder(held.node, subject, labels))
        case Register():
            pieces = {at: (w, replace(x, node=ladder(x.node, subject, labels))) for at, (w, x) in held.pieces.items()}
            return Register(pieces, held.background)
        case _:
            return held
