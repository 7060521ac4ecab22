"""How assembly writes an instruction of HVX: its text with places for operands, and what these are.

>>> form = assembly_form("Vxx32.h+=vmpa(Vuu32.ub,Rt32.b)")
>>> form.text, [(x.name, x.kind, x.written) for x in form.operands]
('{Vxx}.h += vmpa({Vuu}.ub,{Rt}.b)', [('Vxx', 'pair', True), ('Vuu', 'pair', False), ('Rt', 'number', False)])
>>> assembly_form("Vd32.b=vlut32(Vu32.b,Vv32.b,Rt8)").operands[-1].kind
'near'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

OperandKind = Literal["vector", "pair", "number", "near", "immediate"]
"""A vector, two that are one, a number in a register, in one of the first eight, in the text itself."""

_OPERAND = re.compile(r"(V[a-z]{1,2}|R[a-z]|#[us])(\d+)")
_ASSIGNED = re.compile(r"^(\{\w+\}(?:\.\w+)?)([-+&|^]?=)")


@dataclass(frozen=True, slots=True)
class AssemblyOperand:
    """An operand: the name that entries have for it, and whether it is written; `tied`: and read."""

    name: str
    kind: OperandKind
    written: bool = False
    tied: bool = False


@dataclass(frozen=True, slots=True)
class AssemblyForm:
    """The text of an instruction with `{name}` for operands."""

    text: str
    operands: tuple[AssemblyOperand, ...]


def assembly_form(syntax: str) -> AssemblyForm | None:
    """The form of an instruction that makes one vector, or a pair, of others and numbers; None for any other."""
    found: dict[str, AssemblyOperand] = {}
    for register, number in _OPERAND.findall(syntax):
        found.setdefault(register, _operand(register, number))
    text = _OPERAND.sub(lambda x: f"{{{x[1].strip('#')}}}" if x[1][0] != "#" else f"#{{{_name(x[1])}}}", syntax)
    assigned = _ASSIGNED.match(text)
    written = [x for x in found.values() if x.written]
    if assigned is None or len(written) != 1 or "Q" in syntax or "P" in syntax or "mem" in syntax:
        return None
    return AssemblyForm(_ASSIGNED.sub(r"\1 \2 ", text), tuple(found.values()))


def _operand(register: str, number: str) -> AssemblyOperand:
    name = _name(register)
    match register[0]:
        case "V":
            written = register[1] in "dx"
            return AssemblyOperand(name, "pair" if len(register) == 3 else "vector", written, register[1] == "x")
        case "R":
            return AssemblyOperand(name, "near" if number == "8" else "number")
        case _:
            return AssemblyOperand(name, "immediate")


def _name(register: str) -> str:
    return register.replace("#", "")
