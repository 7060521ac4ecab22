"""The arithmetic types of C with what an expression in them can be: conversions and the least and greatest value.

>>> common("unsigned char", "short"), common("int", "unsigned"), common("long", "float")
('int', 'unsigned', 'float')
"""

from __future__ import annotations

from dataclasses import dataclass

BITS = {
    "char": 8, "signed char": 8, "unsigned char": 8, "int8_t": 8, "uint8_t": 8, "_Bool": 1,
    "short": 16, "unsigned short": 16, "int16_t": 16, "uint16_t": 16,
    "int": 32, "unsigned": 32, "int32_t": 32, "uint32_t": 32,
    "long": 64, "unsigned long": 64, "int64_t": 64, "uint64_t": 64, "size_t": 64, "long long": 64,
    "unsigned long long": 64, "float": 32, "double": 64,
}  # fmt: skip
"""The bits of a value; `char` is signed, as it is on x86."""

FLOATS = ("float", "double")
_UNSIGNED = ("unsigned", "uint", "size_t", "_Bool")
_WHAT = {
    "int32_t": "int", "uint32_t": "unsigned", "int64_t": "long", "uint64_t": "unsigned long", "size_t": "unsigned long",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """The text of an expression, its type, and the least and greatest value that it can have.

    `tight` says that the text binds as tightly as a name does.
    """

    text: str
    type: str
    low: float
    high: float
    tight: bool = True

    @property
    def operand(self) -> str:
        """The text as it stands beside an operator."""
        return self.text if self.tight else f"({self.text})"


def is_float(type: str) -> bool:
    """Whether values are real numbers."""
    return type in FLOATS


def is_signed(type: str) -> bool:
    """Whether an integer type, or a float, has values below 0."""
    return not type.startswith(_UNSIGNED)


def reach(type: str) -> tuple[float, float]:
    """The least and greatest value of an integer type."""
    bits = BITS[type]
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed(type) else (0, 2**bits - 1)


def promoted(type: str) -> str:
    """The type in which an operator sees an operand of `type`."""
    if is_float(type):
        return type
    return "int" if BITS[type] < 32 else _WHAT.get(type, type)


def common(a: str, b: str) -> str:
    """The type of the sum of an `a` and a `b`."""
    a, b = promoted(a), promoted(b)
    for real in ("double", "float"):
        if real in (a, b):
            return real
    ranks = ("int", "unsigned", "long", "unsigned long", "long long", "unsigned long long")
    if {a, b} == {"unsigned long", "long long"}:
        return "unsigned long long"
    return max(a, b, key=ranks.index)


def fits(low: float, high: float, type: str) -> bool:
    """Whether an interval lies in a type's."""
    least, most = reach(type)
    return least <= low and high <= most
