"""Scalar types of exact width.

>>> I32.numpy
'int32'
>>> F64.is_float
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Floats = Literal["strict", "contract", "reassociate"]
"""What may be done to floats: nothing that changes a bit, products and sums rounded once, sums in any order."""

Kind = Literal["bool", "int", "uint", "float", "bfloat"]


@dataclass(frozen=True, slots=True)
class Type:
    """A scalar type: its kind and width in bits. `str(type)` is its spelling in the text form."""

    kind: Kind
    bits: int

    def __str__(self) -> str:
        return "bool" if self.kind == "bool" else f"{_LETTER[self.kind]}{self.bits}"

    @property
    def is_float(self) -> bool:
        """Whether it holds rounded real numbers."""
        return self.kind in ("float", "bfloat")

    @property
    def is_int(self) -> bool:
        """Whether it holds whole numbers (bool is not among them)."""
        return self.kind in ("int", "uint")

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return max(1, self.bits // 8)

    @property
    def numpy(self) -> str:
        """The name of NumPy's type of these values (bf16 values are held as float32)."""
        match self.kind:
            case "bool":
                return "bool"
            case "bfloat":
                return "float32"
            case _:
                return f"{self.kind}{self.bits}"


_LETTER = {"int": "i", "uint": "u", "float": "f", "bfloat": "bf"}

BOOL = Type("bool", 8)
I8, I16, I32, I64 = (Type("int", n) for n in (8, 16, 32, 64))
U8, U16, U32, U64 = (Type("uint", n) for n in (8, 16, 32, 64))
F16, F32, F64 = (Type("float", n) for n in (16, 32, 64))
BF16 = Type("bfloat", 16)
INDEX = I64
"""The type of loop iterators, sizes and subscripts; taken as a mathematical integer by the polyhedral model."""

ALL_TYPES = (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64)
BY_NAME = {str(t): t for t in ALL_TYPES}
