"""Element types in C: the user's own declared types, which may be others of the same values.

What is stored as `long long` must not be read as `int64_t` where that is `long`: compilers count on it.

>>> from planish.ir.types import I64
>>> x = Array("x", I64)
>>> declared_type(x, {"x": "long long"}), declared_type(x, {}), is_other(I64, "long long")
('long long', 'int64_t', True)
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from planish.emit.c.expression import c_type
from planish.ir.nest import Array, Kernel, Scalar
from planish.ir.types import I8, I16, I32, U8, U16, U32, Type

Declared = Mapping[str, str]
"""The types of arrays and scalars in C by their names in a kernel; what is not there has the exact one. The types of
sizes are those of the variables that are passed; the functions take `ptrdiff_t`."""

_SAME = {
    I8: "signed char", U8: "unsigned char", I16: "short", U16: "unsigned short", I32: "int", U32: "unsigned int",
}  # fmt: skip
"""What the types of exact width are on all systems that have 64-bit addresses."""


_BY_NAME = {**{text: x for x, text in _SAME.items()}, **{c_type(x): x for x in _SAME}}


def exact_type(text: str) -> Type | None:
    """The type of up to 32 bits that C's name of an integer type says; None of others.

    >>> exact_type("unsigned int"), exact_type("size_t")
    (Type(kind='uint', bits=32), None)
    """
    return _BY_NAME.get(text)


def sizes_of(kernel: Kernel, declared: Declared) -> dict[str, Type]:
    """The types of up to 32 bits of a kernel's sizes, where it is called."""
    found = {x: exact_type(declared[x]) for x in kernel.sizes if x in declared}
    return {x: type for x, type in found.items() if type is not None}


def declared_type(x: Array | Scalar, declared: Declared) -> str:
    """The type of a scalar, or of an array's elements, in C."""
    return declared.get(x.name) or c_type(x.type)


def is_other(type: Type, text: str) -> bool:
    """Whether C may take the type `text` for another one than that of exact width for the same values."""
    return text not in (c_type(type), _SAME.get(type))


def others_of(arrays: Mapping[str, Array], declared: Declared) -> dict[str, str]:
    """The arrays whose elements have another type than that of exact width."""
    return {x: text for x, text in declared.items() if x in arrays and is_other(arrays[x].type, text)}


def suffix_of(declared: Declared) -> str:
    """What tells apart the functions that do the same for arrays of other types.

    >>> suffix_of({"A": "long long", "B": "size_t"})
    '_A_long_long_B_size_t'
    """
    return "".join(f"_{name}_{re.sub(r'[^0-9A-Za-z]+', '_', text)}" for name, text in declared.items())
