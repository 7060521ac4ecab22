"""The forms of the Tactics Description Language, as they are read; places in the text make no two of them different.

>>> str(ElementRef("A", (TdlName("i"), Infix("+", TdlName("k"), NumberLiteral(1)))))
'A(i, k + 1)'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from planish.core.span import Span

_LEVELS = {"or": 1, "and": 2, "+": 3, "-": 3, "*": 4, "/": 4}
_UNARY, _ATOM = 5, 6
INFIX = frozenset(_LEVELS)
"""The operators of values, by how they are written."""


def level_of(op: str) -> int:
    """How tightly an operator binds."""
    return _LEVELS[op]


@dataclass(frozen=True, slots=True)
class TdlName:
    """An index, a size, or a scalar."""

    text: str
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    """A literal."""

    value: int | float
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class ElementRef:
    """An element: `A(i, k)`."""

    array: str
    subscripts: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.array}({', '.join(map(str, self.subscripts))})"


@dataclass(frozen=True, slots=True)
class Function:
    """A function of values: `exp(x(i))`."""

    name: str
    arguments: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Negation:
    """`-x`."""

    operand: Term
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"-{_inside(self.operand, _UNARY)}"


@dataclass(frozen=True, slots=True)
class Infix:
    """`a + b`; the operators associate to the left."""

    op: str
    left: Term
    right: Term
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        own = _LEVELS[self.op]
        return f"{_inside(self.left, own)} {self.op} {_inside(self.right, own + 1)}"


Term = TdlName | NumberLiteral | ElementRef | Function | Negation | Infix


def _inside(term: Term, level: int) -> str:
    """The text of an operand; in parentheses where its own operator binds less tightly."""
    match term:
        case Infix(op=op):
            own = _LEVELS[op]
        case Negation():
            own = _UNARY
        case TdlName() | NumberLiteral() | ElementRef() | Function():
            own = _ATOM
        case _:
            assert_never(term)
    return str(term) if own >= level else f"({term})"


@dataclass(frozen=True, slots=True)
class ComparisonChain:
    """A condition such as `0 <= k <= i`; the first of them may be several names: `i, j < n`."""

    first: tuple[Term, ...]
    rest: tuple[tuple[str, Term], ...]
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return ", ".join(map(str, self.first)) + "".join(f" {op} {term}" for op, term in self.rest)


@dataclass(frozen=True, slots=True)
class IndexGroup:
    """`f = a * c`: one index that stands for several, of which the last runs fastest."""

    name: str
    members: tuple[TdlName, ...]
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.name} = {' * '.join(map(str, self.members))}"


@dataclass(frozen=True, slots=True)
class TdlStatement:
    """`C(i, j) += A(i, k) * B(k, j) where k <= i`."""

    target: ElementRef
    op: str
    value: Term
    chains: tuple[ComparisonChain, ...] = ()
    groups: tuple[IndexGroup, ...] = ()
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        clauses = [str(x) for x in (*self.groups, *self.chains)]
        return f"{self.target} {self.op} {self.value}" + (f" where {', '.join(clauses)}" if clauses else "")


@dataclass(frozen=True, slots=True)
class Use:
    """`gemm(C = D, A = E, B = B, alpha = 1)`: another tactic on operands."""

    tactic: str
    operands: tuple[tuple[str, Term], ...]
    span: Span | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.tactic}({', '.join(f'{name} = {term}' for name, term in self.operands)})"


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A text in another language, from the file's character `start` on: a nest, or C."""

    text: str
    start: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TacticDefinition:
    """`def NAME { … }` as it is written, one of its variants."""

    name: str
    summary: str
    pattern: tuple[TdlStatement, ...] | Verbatim
    builders: tuple[tuple[TdlStatement | Use, ...], ...] = ()
    guards: tuple[ComparisonChain, ...] = ()
    cost: Term | None = None
    examples: tuple[Verbatim, ...] = ()
    counterexamples: tuple[Verbatim, ...] = ()
    family: str = ""
    span: Span | None = field(default=None, compare=False)
