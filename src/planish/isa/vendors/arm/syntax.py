"""The parts of Arm's operation language, as far as its intrinsics use it.

>>> AslSlice(AslName("x"), AslNumber(7), AslNumber(0))
AslSlice(base=AslName(text='x'), high=AslNumber(value=7), low=AslNumber(value=0))
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AslNumber:
    """A whole number."""

    value: int


@dataclass(frozen=True, slots=True)
class AslBits:
    """Bits in quotes."""

    text: str


@dataclass(frozen=True, slots=True)
class AslName:
    """A variable, a constant, or one with a field (`FPSR.QC`)."""

    text: str


@dataclass(frozen=True, slots=True)
class AslCall:
    """A function, or with `square` an accessor, as `Elem[x, e, 8]`."""

    name: str
    arguments: tuple[Expr, ...]
    square: bool = False


@dataclass(frozen=True, slots=True)
class AslSlice:
    """Some bits of a value; of one bit both ends are the same."""

    base: Expr
    high: Expr
    low: Expr


@dataclass(frozen=True, slots=True)
class AslUnary:
    """`-x` or `!x`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class AslBinary:
    """`a op b`; `:` puts bits together, the first ones on top."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class AslChoose:
    """`if c then a else b`."""

    condition: Expr
    then: Expr
    otherwise: Expr


Expr = AslNumber | AslBits | AslName | AslCall | AslSlice | AslUnary | AslBinary | AslChoose


@dataclass(frozen=True, slots=True)
class AslDeclare:
    """A variable; `width` of bits (None: a number, or something else), and its value, if it is given one."""

    name: str
    width: Expr | None
    value: Expr | None


@dataclass(frozen=True, slots=True)
class AslAssign:
    """A value that is put into one place, or one of several into several."""

    targets: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class AslFor:
    """A loop, both ends included."""

    counter: str
    first: Expr
    last: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class AslIf:
    """One of two ways."""

    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class AslCase:
    """The way whose label is the subject's value."""

    subject: Expr
    ways: tuple[tuple[Expr, tuple[Stmt, ...]], ...]


Stmt = AslDeclare | AslAssign | AslFor | AslIf | AslCase
