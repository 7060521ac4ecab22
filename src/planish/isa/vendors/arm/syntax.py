"""The parts of Arm's operation language, as far as its intrinsics use it.

>>> Slice(Name("x"), Number(7), Number(0))
Slice(base=Name(text='x'), high=Number(value=7), low=Number(value=0))
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number."""

    value: int


@dataclass(frozen=True, slots=True)
class Bits:
    """Bits in quotes."""

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, a constant, or one with a field (`FPSR.QC`)."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function, or with `square` an accessor, as `Elem[x, e, 8]`."""

    name: str
    arguments: tuple[Expr, ...]
    square: bool = False


@dataclass(frozen=True, slots=True)
class Slice:
    """Some bits of a value; of one bit both ends are the same."""

    base: Expr
    high: Expr
    low: Expr


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x` or `!x`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """`a op b`; `:` puts bits together, the first ones on top."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Choose:
    """`if c then a else b`."""

    condition: Expr
    then: Expr
    otherwise: Expr


Expr = Number | Bits | Name | Call | Slice | Unary | Binary | Choose


@dataclass(frozen=True, slots=True)
class Declare:
    """A variable; `width` of bits (None: a number, or something else), and its value, if it is given one."""

    name: str
    width: Expr | None
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Assign:
    """A value that is put into one place, or one of several into several."""

    targets: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class For:
    """A loop, both ends included."""

    counter: str
    first: Expr
    last: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class If:
    """One of two ways."""

    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """The way whose label is the subject's value."""

    subject: Expr
    ways: tuple[tuple[Expr, tuple[Stmt, ...]], ...]


Stmt = Declare | Assign | For | If | Case
