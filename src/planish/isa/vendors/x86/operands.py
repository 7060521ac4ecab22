"""Operands in C's types as bits, and their element types in Intel's data.

>>> from planish.isa.vendors.x86.data import IntelParameter
>>> as_input(IntelParameter("__m256i", "a", "SI16"))
SymbolicInput(name='a', bits=256, element=Element(kind='int', bits=16, signed=True), pointer=False)
>>> as_input(IntelParameter("float const *", "p", "FP32", 32)).pointer
True
"""

from __future__ import annotations

import re

from planish.isa.semantics.definition import Operand
from planish.isa.vendors.symbolic_state import Element, Unreadable
from planish.isa.vendors.x86.data import IntelParameter
from planish.isa.vendors.x86.machine_state import SymbolicInput

_ELEMENTS = {
    **{f"{sign}{bits}": Element("int", bits, sign == "SI") for sign in ("UI", "SI") for bits in (8, 16, 32, 64)},
    "FP16": Element("f16", 16), "BF16": Element("bf16", 16), "FP32": Element("f32", 32), "FP64": Element("f64", 64),
    "MASK": Element("int", 1), "IMM": Element("int", 8), "M128": Element(), "M256": Element(), "M512": Element(),
    "": Element(),
}  # fmt: skip

TILE = "__tile"
"""A register of AMX: 16 rows of 64 bytes at most, and as many in what is learnt."""

_C_BITS = {
    "char": 8, "unsigned char": 8, "__int8": 8, "short": 16, "unsigned short": 16, "__int16": 16, "int": 32,
    "unsigned int": 32, "unsigned": 32, "__int32": 32, "unsigned __int32": 32, "__int64": 64, "unsigned __int64": 64,
    "long long": 64, "unsigned long": 64, "size_t": 64, "float": 32, "double": 64, "void": 0, TILE: 16 * 512,
}  # fmt: skip


def is_pointer(x: IntelParameter) -> bool:
    """Whether an operand is an address."""
    return "*" in x.type


def is_immediate(x: IntelParameter) -> bool:
    """Whether an operand has to be known when a program is compiled."""
    return x.element == "IMM" and not is_pointer(x)


def bits_of(x: IntelParameter) -> int:
    """The bits of an operand; Unreadable for a type that is not known."""
    plain = x.type.replace("const ", "").replace(" const", "").replace("*", "").strip()
    if is_immediate(x):
        return 8
    if found := re.fullmatch(r"__(?:m|mmask)([1-9]\d{0,3})(?:d|i|bh|h)?", plain, re.ASCII):
        return int(found[1])
    if plain in _C_BITS:
        return _C_BITS[plain]
    raise Unreadable(f"the type `{x.type}`")


def element_of(x: IntelParameter) -> Element:
    """What the elements of an operand are; Unreadable where the data uses a word that is not known."""
    if x.element not in _ELEMENTS:
        raise Unreadable(f"elements of `{x.element}`")
    return _ELEMENTS[x.element]


def as_input(x: IntelParameter) -> SymbolicInput:
    """An operand as the pseudocode sees it."""
    return SymbolicInput(x.name, bits_of(x), element_of(x), is_pointer(x))


def as_operand(x: IntelParameter) -> Operand:
    """An operand as a definition has it."""
    element = element_of(x)
    kind = "" if element.kind == "int" or x.type == "__m64" else element.kind
    if is_pointer(x):
        return Operand(x.name, x.memory_bits, "memory", kind)
    return Operand(x.name, bits_of(x), "immediate" if is_immediate(x) else "value", kind)
