"""The operands of an instruction, as its assembly names them and as C gives them.

>>> found = read_operands("Vxx32.h+=vmpa(Vuu32.ub,Rt32.b)")
>>> [(x.register, x.kind, x.bits) for x in found.parameters], found.result.register
([('Vxx', 'HVX_VectorPair', 2048), ('Vuu', 'HVX_VectorPair', 2048), ('Rt', 'int', 32)], 'Vxx')
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from planish.isa.vendors.symbolic_state import Unreadable

_OPERAND = re.compile(r"(V[a-z]{1,2}|Q[a-z]|P[a-z]|R[a-z]{1,2}|#[us])(\d+)")
PREDICATE = "HVX_VectorPred"
"""A predicate: in C a vector whose bytes are zero or not."""


@dataclass(frozen=True, slots=True)
class HvxOperand:
    """An operand: the register of the assembly, and its type and bits in C."""

    register: str
    kind: str
    bits: int


@dataclass(frozen=True, slots=True)
class HvxOperands:
    """The parameters in C's order, and the result."""

    parameters: tuple[HvxOperand, ...]
    result: HvxOperand


def read_operands(syntax: str) -> HvxOperands:
    """The operands of an instruction in assembly; Unreadable where it leaves more than one result, or none."""
    found: dict[str, HvxOperand] = {}
    for register, number in _OPERAND.findall(syntax):
        found.setdefault(register, _given(register, int(number)))
    results = [x for x in found.values() if x.register[0] != "#" and x.register[1] in "dxye"]
    if len(results) != 1:
        raise Unreadable(f"it has {len(results) or 'no'} results")
    (result,) = results
    kept = [x for x in found.values() if x is not result]
    # What is read and written comes first, but a predicate that decides stands before it.
    first = [result] if result.register[1] in "xy" else []
    if syntax.startswith("if") and kept and kept[0].register[0] == "P":
        return HvxOperands((result, *kept), result)  # without the condition the result stays what it was
    if syntax.startswith("if"):
        return HvxOperands((*kept[:1], *first, *kept[1:]), result)
    return HvxOperands((*first, *kept), result)


def _given(register: str, number: int) -> HvxOperand:
    match register[0]:
        case "V":
            pair = len(register) == 3
            return HvxOperand(register, "HVX_VectorPair" if pair else "HVX_Vector", 2048 if pair else 1024)
        case "Q":
            return HvxOperand(register, PREDICATE, 1024)
        case "P":
            return HvxOperand(register, "int", 32)
        case "R":
            return HvxOperand(register, "long long", 64) if len(register) == 3 else HvxOperand(register, "int", 32)
        case _:
            return HvxOperand(register, "immediate", number)
