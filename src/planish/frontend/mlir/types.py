"""MLIR's types as ours, and how the elements of a memref lie in memory.

>>> from xdsl.dialects.builtin import IndexType, IntegerType, f32
>>> str(scalar_type(f32)), str(scalar_type(IntegerType(1))), scalar_type(IndexType()) == INDEX
('f32', 'bool', True)
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    AffineMapAttr,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap

from planish.ir.types import BF16, BOOL, BY_NAME, F16, F32, F64, INDEX, Type

LARGEST_SIZE = 1 << 40
"""No memref has a larger extent."""


def scalar_type(attribute: Attribute) -> Type | None:
    """The type of a scalar, or None for one that Planish does not know. Integers without a sign count as signed."""
    match attribute:
        case IndexType():
            return INDEX
        case IntegerType():
            width = attribute.width.data
            if width == 1:
                return BOOL
            letter = "u" if attribute.signedness.data == Signedness.UNSIGNED else "i"
            return BY_NAME.get(f"{letter}{width}")
        case Float16Type():
            return F16
        case BFloat16Type():
            return BF16
        case Float32Type():
            return F32
        case Float64Type():
            return F64
        case _:
            return None


@dataclass(frozen=True, slots=True)
class MemrefType:
    """A memref type: element type and extents (None: known when it runs).

    `strides` and `offset` count elements, None for one that is known when it runs; where `strides` itself is None the
    rows are dense and start at the pointer.
    """

    type: Type
    extents: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None = None
    offset: int | None = 0


def layout_of(attribute: Attribute) -> MemrefType | str:
    """The layout of a memref type, or why it cannot be had."""
    if not isinstance(attribute, MemRefType):
        return f"`{attribute}` is no memref"
    type = scalar_type(attribute.element_type)
    if type is None:
        return f"its elements are of type `{attribute.element_type}`"
    extents = tuple(None if n < 0 else n for n in attribute.get_shape())
    if any(n is not None and n > LARGEST_SIZE for n in extents):
        return "an extent is larger than any memory"
    match attribute.layout:
        case NoneAttr():
            return MemrefType(type, extents)
        case StridedLayoutAttr(strides=strides, offset=start):
            steps = tuple(x.data if isinstance(x, IntAttr) else None for x in strides.data)
            if len(steps) != len(extents):
                return f"it has {len(extents)} dimensions and {len(steps)} strides"
            offset = start.data if isinstance(start, IntAttr) else None
            dense = offset == 0 and steps == dense_strides(extents)
            return MemrefType(type, extents) if dense else MemrefType(type, extents, steps, offset)
        case AffineMapAttr(data=map) if map == AffineMap.identity(len(extents)):
            return MemrefType(type, extents)
        case AffineMapAttr():
            return "its layout is a map; write it as `strided<[…], offset: …>`"
        case _:
            return f"its layout is `{attribute.layout}`"


def dense_strides(extents: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """How far apart elements are when rows follow each other without gaps."""
    out: list[int | None] = []
    step: int | None = 1
    for extent in reversed(extents):
        out.append(step)
        step = None if step is None or extent is None else step * extent
    return tuple(reversed(out))
