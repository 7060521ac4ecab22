"""Equivalence of two definitions for all operands, shown on their unrolled forms.

>>> from planish.isa.semantics.text import parse_definition
>>> one = parse_definition("(a: 16) -> r: 16 { for i < 2 { r.u8[i] = a.u8[i] } }")
>>> are_same(one, parse_definition("(a: 16) -> r: 16 { r.u16[0] = a.u16[0] }"))
True
>>> are_same(one, parse_definition("(a: 16) -> r: 16 { r.u8[0] = a.u8[1] r.u8[1] = a.u8[0] }"))
False
"""

from __future__ import annotations

from planish.isa.semantics.definition import Definition, Put
from planish.isa.semantics.scalarised import ordered, puts_of, unroll


def are_same(one: Definition, other: Definition) -> bool:
    """Whether they are proven to be the same: each byte, or each bit, is the same expression, or else each statement
    is. Which of two NaNs is kept does not matter. Where they are not proven to be, they may be all the same."""
    if one == other:
        return True
    if one.operands != other.operands or one.result != other.result:
        return False
    for unit in (8, 1):
        first, second = unroll(one, unit=unit), unroll(other, unit=unit)
        if first is not None and second is not None and first == second:
            return True
    return _in_order(one) == _in_order(other)


def _in_order(definition: Definition) -> list[Put]:
    found = puts_of(definition)
    return [Put(x.target, ordered(x.offset), x.width, ordered(x.value), ordered(x.when)) for x in found]
