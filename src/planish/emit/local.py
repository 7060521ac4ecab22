"""The declaration of a local array in C: where it is, and what is in it where that is a table.

>>> from planish.ir.expr import index
>>> from planish.ir.types import F32
>>> declare(Array("t", F32, (index(2),), memory="table", values=(1.0, -0.5)), "t", "[2]")
'_Alignas(64) static const float t[2] = {1.0f, -0.5f};'
>>> declare(Array("s", F32, (), memory="register"), "s", "")
'float s;'
"""

from __future__ import annotations

from planish.emit.expression import c_type, literal
from planish.ir.expr import Const
from planish.ir.nest import Array


def declare(array: Array, name: str, extents: str) -> str:
    """The declaration of an array that is not on the heap, by its name in C and the text of its extents."""
    constant = all(isinstance(x, Const) for x in array.shape)
    aligned = "_Alignas(64) " if array.shape and constant else ""
    if array.memory != "table":
        return f"{aligned}{c_type(array.type)} {name}{extents};"
    values = ", ".join(literal(Const(x, array.type))[0] for x in array.values)
    # One list for all dimensions: C fills the rows one after the other.
    return f"{aligned}static const {c_type(array.type)} {name}{extents} = {{{values}}};"
