"""The text form's spelling of operators, words and names; the printer and the parser read the same tables.

>>> quoted("step"), quoted("row")
('`step`', 'row')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planish.ir.expr import BinaryOp, CompareOp
from planish.ir.nest import ReduceOp
from planish.ir.types import BY_NAME, Type

INFIX: dict[str, tuple[BinaryOp, int]] = {
    "||": ("or", 1), "&&": ("and", 2), "|": ("or", 4), "^": ("xor", 5), "&": ("and", 6),
    "<<": ("shl", 7), ">>": ("shr", 7), "+": ("add", 8), "-": ("sub", 8),
    "*": ("mul", 9), "/": ("div", 9), "//": ("floordiv", 9), "%": ("mod", 9),
}  # fmt: skip
"""Spelling to operator and precedence (higher binds tighter); all associate to the left."""

COMPARISONS: dict[str, CompareOp] = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
"""Spelling to operator; they do not associate."""

COMPARISON_LEVEL = 3
UNARY_LEVEL = 10
ATOM_LEVEL = 11

CALLED: dict[str, BinaryOp] = {"quo": "quo", "rem": "rem", "min": "min", "max": "max"}
"""Binary operators that are written as calls."""

UPDATES: dict[str, ReduceOp] = {
    "+=": "add", "*=": "mul", "min=": "min", "max=": "max", "&=": "and", "|=": "or", "^=": "xor",
}  # fmt: skip
"""Spelling to operator of a reduction."""

SIGNS = {op: sign for sign, op in UPDATES.items()}
"""Operator of a reduction to spelling."""

RESERVED = frozenset(BY_NAME) | frozenset(CALLED) | {
    "kernel", "launch", "barrier", "async", "assume", "where", "for", "in", "step", "parallel", "simd", "reduce",
    "unroll", "coincident", "isolated", "as", "past", "fetching", "on", "of", "if", "else", "while", "let",
    "alloc", "distinct", "dram", "scratch", "stack", "register", "nowhere", "true", "false", "inf", "nan", "select",
}  # fmt: skip
"""Words that stand for themselves; a name that is spelt so is written between backquotes."""


def quoted(name: str) -> str:
    """The name as the text form writes it."""
    return f"`{name}`" if name in RESERVED else name


@dataclass(frozen=True, slots=True)
class TypeScope:
    """The types of the names in scope: a name that is used at another type carries a suffix such as `x:f64`."""

    values: Mapping[str, Type] = field(default_factory=dict)
    arrays: Mapping[str, Type] = field(default_factory=dict)

    def with_value(self, name: str, type: Type) -> TypeScope:
        """The scope with one more iterator, size, scalar or let."""
        return replace(self, values={**self.values, name: type})

    def with_array(self, name: str, type: Type) -> TypeScope:
        """The scope with one more array, of elements of that type."""
        return replace(self, arrays={**self.arrays, name: type})
