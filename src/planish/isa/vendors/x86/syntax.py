"""The pseudocode of an operation as a tree: expressions, statements, and where each of them stands.

>>> Assign(1, Name("dst"), "", Binary("+", Name("a"), Number(1))).target
Name(text='dst')
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number."""

    value: int


@dataclass(frozen=True, slots=True)
class Real:
    """A number with a point."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    """An operand, a register, or a constant such as `MAX`."""

    text: str


@dataclass(frozen=True, slots=True)
class Slice:
    """`base[high:low]`: bits, both ends included."""

    base: Expr
    high: Expr
    low: Expr


@dataclass(frozen=True, slots=True)
class Index:
    """`base[index]`: one bit, or one element of a field."""

    base: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Field:
    """`base.field`: the elements of a width, such as `a.word`."""

    base: Expr
    field: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the data, or one that the operation defines."""

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """`-`, `~`, `!` or `NOT`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two operands."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Ternary:
    """`condition ? then : otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr


Expr = Number | Real | Name | Slice | Index | Field | Call | Unary | Binary | Ternary


@dataclass(frozen=True, slots=True)
class Assign:
    """`target op= value`; `op` is empty for `:=`."""

    line: int
    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class For:
    """A loop over numbers, both ends included."""

    line: int
    counter: str
    first: Expr
    last: Expr
    step: int
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class While:
    """`DO WHILE condition … OD`."""

    line: int
    condition: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class If:
    """`IF … ELSE … FI`."""

    line: int
    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """`CASE subject OF … ESAC`; the label None stands for all that is left."""

    line: int
    subject: Expr
    branches: tuple[tuple[Expr | None, tuple[Stmt, ...]], ...]


@dataclass(frozen=True, slots=True)
class Define:
    """A function of the operation's own."""

    line: int
    name: str
    parameters: tuple[Expr, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Return:
    """What a function gives."""

    line: int
    value: Expr


@dataclass(frozen=True, slots=True)
class Perform:
    """A call for what it does, or a fault such as `#IE`."""

    line: int
    what: Expr


@dataclass(frozen=True, slots=True)
class Break:
    """The end of a loop or a case."""

    line: int


Stmt = Assign | For | While | If | Case | Define | Return | Perform | Break


@dataclass(frozen=True, slots=True)
class Program:
    """An operation: its functions by name, and its statements."""

    functions: dict[str, Define]
    body: tuple[Stmt, ...]
