"""C's types of Neon as bits, and operands of instructions as shapes.

>>> c_bits("int16x4x3_t"), c_element("float32x2_t"), c_bits("const int")
(192, 'f32', 32)
>>> read_operands("MLA Vd.4H,Vn.4H,Vm.H[lane]")[2]
NeonShape(register='m', size=16, count=0, lane='lane', value='')
>>> read_operands("EXT Vd.8H,Vn.8H,Vm.8H,#(n << 1)")[3].value
'n << 1'
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from planish.isa.vendors.symbolic_state import Unreadable

_SIZES = {"B": 8, "H": 16, "S": 32, "D": 64, "Q": 128}
_MOST_BITS = 1024
_VECTOR = re.compile(r"(u?int|float|poly|bfloat)(\d{1,3})(?:x(\d{1,2}))?(?:x(\d))?_t", re.ASCII)
_ARRANGED = re.compile(r"V([a-z])(\d*)\.(\d+)([BHSDQ])")
_LANE = re.compile(r"[VD]([a-z])\.([BHSDbhsd])\[(\w+)\]")
_SCALAR = re.compile(r"([BHSDQ])([a-z])")
_GENERAL = re.compile(r"[RrXxW]([a-z])")


@dataclass(frozen=True, slots=True)
class NeonShape:
    """An operand of an instruction: a register with elements of `size` bits, `count` of them (0: one), or one `lane`
    of them; or an immediate's `value`."""

    register: str
    size: int = 0
    count: int = 0
    lane: str = ""
    value: str = ""


def c_bits(kind: str) -> int:
    """The bits of a value; Unreadable for a type that is not known."""
    plain = kind.replace("const", "").strip()
    if found := _VECTOR.fullmatch(plain):
        bits = int(found[2]) * int(found[3] or 1) * int(found[4] or 1)
        if 0 < bits <= _MOST_BITS:
            return bits
    if plain in ("int", "unsigned int"):
        return 32
    if plain == "void":
        return 0
    raise Unreadable(f"the type `{kind}`")


def c_element(kind: str) -> str:
    """The format of the floats in a value, "" where it holds none."""
    found = _VECTOR.fullmatch(kind.replace("const", "").replace("*", "").strip())
    if found is None or found[1] not in ("float", "bfloat"):
        return ""
    return f"{'b' if found[1] == 'bfloat' else ''}f{found[2]}"


def read_operands(instruction: str) -> tuple[NeonShape, ...]:
    """The operands of an instruction; Unreadable where they have a form that is not known."""
    _, _, text = instruction.partition(" ")
    return tuple(_shape(x.strip()) for x in re.split(r",(?![^{]*\})", text) if x.strip())


def _shape(text: str) -> NeonShape:
    if found := _ARRANGED.fullmatch(text):
        return NeonShape(found[1], _SIZES[found[4]], int(found[3]))
    if found := _LANE.fullmatch(text):
        return NeonShape(found[1], _SIZES[found[2].upper()], 0, found[3])
    if found := _SCALAR.fullmatch(text):
        return NeonShape(found[2], _SIZES[found[1]])
    if found := _GENERAL.fullmatch(text):
        return NeonShape(found[1])
    if text.startswith("#"):
        return NeonShape("", value=text[1:].strip("()"))
    raise Unreadable(f"an operand of the form `{text}`")
