"""The pseudocode of an operation as a tree: expressions, statements, and where each of them stands.

>>> IntelAssign(1, IntelName("dst"), "", IntelBinary("+", IntelName("a"), IntelNumber(1))).target
IntelName(text='dst')
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class IntelNumber:
    """A whole number."""

    value: int


@dataclass(frozen=True, slots=True)
class IntelReal:
    """A number with a point."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class IntelName:
    """An operand, a register, or a constant such as `MAX`."""

    text: str


@dataclass(frozen=True, slots=True)
class IntelSlice:
    """`base[high:low]`: bits, both ends included."""

    base: Expr
    high: Expr
    low: Expr


@dataclass(frozen=True, slots=True)
class IntelIndex:
    """`base[index]`: one bit, or one element of a field."""

    base: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class IntelField:
    """`base.field`: the elements of a width, such as `a.word`."""

    base: Expr
    field: str


@dataclass(frozen=True, slots=True)
class IntelCall:
    """A function of the data, or one that the operation defines."""

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class IntelUnary:
    """`-`, `~`, `!` or `NOT`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class IntelBinary:
    """An operator between two operands."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class IntelTernary:
    """`condition ? then : otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr


Expr = (
    IntelNumber
    | IntelReal
    | IntelName
    | IntelSlice
    | IntelIndex
    | IntelField
    | IntelCall
    | IntelUnary
    | IntelBinary
    | IntelTernary
)


@dataclass(frozen=True, slots=True)
class IntelAssign:
    """`target op= value`; `op` is empty for `:=`."""

    line: int
    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class IntelFor:
    """A loop over numbers, both ends included."""

    line: int
    counter: str
    first: Expr
    last: Expr
    step: int
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class IntelWhile:
    """`DO WHILE condition … OD`."""

    line: int
    condition: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class IntelIf:
    """`IF … ELSE … FI`."""

    line: int
    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class IntelCase:
    """`CASE subject OF … ESAC`; the label None stands for all that is left."""

    line: int
    subject: Expr
    branches: tuple[tuple[Expr | None, tuple[Stmt, ...]], ...]


@dataclass(frozen=True, slots=True)
class IntelDefine:
    """A function of the operation's own."""

    line: int
    name: str
    parameters: tuple[Expr, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class IntelReturn:
    """What a function gives."""

    line: int
    value: Expr


@dataclass(frozen=True, slots=True)
class IntelPerform:
    """A call for what it does, or a fault such as `#IE`."""

    line: int
    what: Expr


@dataclass(frozen=True, slots=True)
class IntelBreak:
    """The end of a loop or a case."""

    line: int


Stmt = IntelAssign | IntelFor | IntelWhile | IntelIf | IntelCase | IntelDefine | IntelReturn | IntelPerform | IntelBreak


@dataclass(frozen=True, slots=True)
class IntelProgram:
    """An operation: its functions by name, and its statements."""

    functions: dict[str, IntelDefine]
    body: tuple[Stmt, ...]
