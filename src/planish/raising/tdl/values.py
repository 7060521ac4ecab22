"""Values and subscripts of the description language as expressions.

>>> from planish.ir.text.printer import print_expr
>>> from planish.raising.tdl.syntax import ElementRef, Infix, TdlName
>>> term = Infix("*", TdlName("alpha"), ElementRef("A", (TdlName("i"), Infix("+", TdlName("k"), TdlName("p")))))
>>> print_expr(value_of(term, TdlScope(Source("t.tdl", ""), {"i": index("m"), "k": index("n")}, ("p", "m", "n"))))
'alpha * A[i, k + p]'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, assert_never

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span
from planish.ir.expr import (
    PURE_FUNCTIONS,
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    index,
)
from planish.ir.index.polynomial import affine_over, names, normal
from planish.ir.types import BOOL, F64, INDEX, Type
from planish.raising.tdl.syntax import (
    ComparisonChain,
    ElementRef,
    Function,
    Infix,
    Negation,
    NumberLiteral,
    TdlName,
    Term,
)

FUNCTIONS: Mapping[str, int] = {**PURE_FUNCTIONS, "relu": 1, "max": 2, "min": 2}
"""What a value may be a function of, with the number of arguments; `abs` is that of floats."""

_ARITHMETIC: Mapping[str, BinaryOp] = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_LOGIC: Mapping[str, BinaryOp] = {"and": "and", "or": "or"}
_COMPARISONS: Mapping[str, CompareOp] = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


@dataclass(frozen=True, slots=True)
class TdlScope:
    """What names stand for: indices with their sizes, constants (sizes among them); any other name is a scalar."""

    source: Source
    indices: Mapping[str, Expr] = field(default_factory=dict)
    constants: tuple[str, ...] = ()
    element: Type = F64

    def fail(self, code: str, message: str, span: Span | None, help: str = "") -> NoReturn:
        """PlanishError at a place of the text."""
        raise PlanishError(Diagnostic(code, message, span, help), self.source)


def parts(term: Term) -> Iterator[Term]:
    """A term and all in it, from the left, subscripts included."""
    yield term
    match term:
        case TdlName() | NumberLiteral():
            return
        case ElementRef(subscripts=inner) | Function(arguments=inner):
            pass
        case Negation(operand=x):
            inner = (x,)
        case Infix(left=a, right=b):
            inner = (a, b)
        case _:
            assert_never(term)
    for x in inner:
        yield from parts(x)


def accesses(term: Term) -> tuple[ElementRef, ...]:
    """The elements that a value reads, from the left."""
    return tuple(x for x in parts(term) if isinstance(x, ElementRef))


def value_of(term: Term, scope: TdlScope) -> Expr:
    """A value as an expression over elements of the scope's type.

    PlanishError E0814 for an index that stands as a value, E0831 for sums of truths or truths of sums.
    """
    match term:
        case NumberLiteral(value=value):
            if scope.element == BOOL and value not in (0, 1):
                scope.fail("E0831", f"{value} is no truth value", term.span, "0 is false and 1 is true")
            return Const(bool(value) if scope.element == BOOL else float(value), scope.element)
        case TdlName(text=name):
            if name in scope.indices:
                scope.fail("E0814", f"the index `{name}` stands as a value", term.span, "a value is an element, a "
                           "scalar, a size or a number; write a pattern that counts as a nest")  # fmt: skip
            return Cast(Var(name, INDEX), scope.element) if name in scope.constants else Var(name, scope.element)
        case ElementRef(array=array, subscripts=subscripts):
            return Load(array, tuple(subscript_of(x, scope) for x in subscripts), scope.element)
        case Function(name=name, arguments=arguments):
            return _function(name, tuple(value_of(x, scope) for x in arguments))
        case Negation(operand=x):
            return Unary("not" if scope.element == BOOL else "neg", value_of(x, scope))
        case Infix(op=op, left=left, right=right):
            if (op in _LOGIC) != (scope.element == BOOL):
                other = "`and` and `or`" if scope.element == BOOL else "numbers"
                scope.fail("E0831", f"`{op}` stands in a tactic of {other}", term.span)
            table = _LOGIC if scope.element == BOOL else _ARITHMETIC
            return Binary(table[op], value_of(left, scope), value_of(right, scope))
        case _:
            assert_never(term)


def _function(name: str, arguments: tuple[Expr, ...]) -> Expr:
    match name:
        case "relu":
            # As C has it: a maximum of floats would say that there is no NaN.
            return Select(Compare("gt", arguments[0], Const(0.0, F64)), arguments[0], Const(0.0, F64))
        case "max" | "min":
            return Binary(name, *arguments)
        case "abs":
            return Call("fabs", arguments)
        case _:
            return Call(name, arguments)


def subscript_of(term: Term, scope: TdlScope) -> Expr:
    """A subscript or a bound: affine in the indices, with constants as factors; PlanishError E0817 for others."""
    expr = _index(term, scope, {})
    if not affine_over(expr, scope.indices, True):
        scope.fail("E0817", f"`{term}` is not affine in the indices", term.span)
    return expr


def size_of(term: Term, scope: TdlScope) -> Expr:
    """A number of sizes: each index stands for how many values it has."""
    return normal(_index(term, scope, scope.indices))


def _index(term: Term, scope: TdlScope, values: Mapping[str, Expr]) -> Expr:
    match term:
        case NumberLiteral(value=int(value)):
            return index(value)
        case TdlName(text=name):
            if name not in scope.indices and name not in scope.constants:
                near = ", ".join(scope.indices) or "none"
                scope.fail("E0813", f"nothing says what the index `{name}` runs over", term.span, f"indices: {near}")
            return values.get(name, Var(name, INDEX))
        case Infix(op="+" | "-" | "*" as op, left=left, right=right):
            return Binary(_ARITHMETIC[op], _index(left, scope, values), _index(right, scope, values))
        case Negation(operand=x):
            return Unary("neg", _index(x, scope, values))
        case _:
            message = f"`{term}` is neither an index, a size, a whole number, nor a sum or product of them"
            scope.fail("E0817", message, term.span)


def conditions_of(chain: ComparisonChain, scope: TdlScope, sizes: bool = False) -> tuple[Compare, ...]:
    """The comparisons of neighbours in a chain; `sizes`: indices stand for how many values they have."""
    read = size_of if sizes else subscript_of
    out: list[Compare] = []
    for first in chain.first:
        left = read(first, scope)
        for op, term in chain.rest:
            right = read(term, scope)
            out.append(Compare(_COMPARISONS[op], left, right))
            left = right
    return tuple(out)


def indices_in(expr: Expr, scope: TdlScope) -> frozenset[str]:
    """The indices that an expression depends on."""
    return names(expr) & frozenset(scope.indices)
