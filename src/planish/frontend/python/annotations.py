"""Annotations of parameters: element types, arrays of them, and sizes.

`f32` alone is a scalar, `f32["n", "m"]` an array; a size is written as text, as a number, or with symbols made by
`sizes`, which type checkers and linters take for the ordinary names that they are.

>>> f32["n", "n + 1"]
f32[n, n + 1]
>>> n, m = sizes("n m")
>>> f64[n, 2 * m]
f64[n, (2 * m)]
>>> f32(0.5) + f32(1)
np.float32(1.5)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planish.ir.types import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Type


@dataclass(frozen=True, slots=True)
class Size:
    """An extent that is known when the kernel is called: as an annotation the parameter, as a value its symbol.

    Arithmetic with symbols and numbers gives further symbols: `2 * size("n") - 1`.
    """

    text: str

    def __str__(self) -> str:
        return self.text

    def __add__(self, other: Size | int) -> Size:
        return Size(f"({self} + {other})")

    def __radd__(self, other: int) -> Size:
        return Size(f"({other} + {self})")

    def __sub__(self, other: Size | int) -> Size:
        return Size(f"({self} - {other})")

    def __rsub__(self, other: int) -> Size:
        return Size(f"({other} - {self})")

    def __mul__(self, other: Size | int) -> Size:
        return Size(f"({self} * {other})")

    def __rmul__(self, other: int) -> Size:
        return Size(f"({other} * {self})")

    def __floordiv__(self, other: int) -> Size:
        return Size(f"({self} // {other})")

    def __mod__(self, other: int) -> Size:
        return Size(f"({self} % {other})")

    def __neg__(self) -> Size:
        return Size(f"(-{self})")


Extent = str | int | Size


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array parameter: its element type and its extents as text, outermost first."""

    type: Type
    shape: tuple[str, ...]

    def __repr__(self) -> str:
        return f"{self.type}[{', '.join(self.shape)}]"


@dataclass(frozen=True, slots=True)
class ElementType:
    """A scalar type: an annotation, a maker of array annotations, and a conversion to NumPy's scalar."""

    type: Type

    def __repr__(self) -> str:
        return str(self.type)

    def __getitem__(self, shape: Extent | tuple[Extent, ...]) -> ArrayType:
        extents = shape if isinstance(shape, tuple) else (shape,)
        return ArrayType(self.type, tuple(str(x) for x in extents))

    def __call__(self, value: float) -> Any:
        """The value as NumPy's scalar of this type, as the kernel would hold it."""
        return np.dtype(self.type.numpy).type(value)


def sizes(names: str) -> Any:
    """Symbols for several sizes, given between blanks; a tuple even where there is one."""
    return tuple(Size(name) for name in names.split())


# Declared as Any: type checkers then accept them both as annotations (subscripted or not) and as functions.
size: Any = Size
boolean: Any = ElementType(BOOL)
i8: Any = ElementType(I8)
i16: Any = ElementType(I16)
i32: Any = ElementType(I32)
i64: Any = ElementType(I64)
u8: Any = ElementType(U8)
u16: Any = ElementType(U16)
u32: Any = ElementType(U32)
u64: Any = ElementType(U64)
f16: Any = ElementType(F16)
f32: Any = ElementType(F32)
f64: Any = ElementType(F64)

EXPORTED: dict[str, object] = {
    "size": Size, "sizes": sizes, "boolean": boolean, "i8": i8, "i16": i16, "i32": i32, "i64": i64, "u8": u8,
    "u16": u16, "u32": u32, "u64": u64, "f16": f16, "f32": f32, "f64": f64,
}  # fmt: skip
"""The names that users import, as a program text that is read without being run sees them."""
