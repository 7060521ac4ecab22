"""The names of the scalar types in C.

>>> from planish.ir.types import I64
>>> c_name(I64)
'__INT64_TYPE__'
"""

from __future__ import annotations

from typing import assert_never

from planish.ir.types import Type


def c_name(type: Type) -> str:
    """The C type of these values, spelt without any header (gcc and clang predefine these names)."""
    match type.kind:
        case "bool":
            return "_Bool"
        case "int":
            return f"__INT{type.bits}_TYPE__"
        case "uint":
            return f"__UINT{type.bits}_TYPE__"
        case "float":
            return {16: "_Float16", 32: "float", 64: "double"}[type.bits]
        case "bfloat":
            return "__bf16"
        case _:
            assert_never(type.kind)
