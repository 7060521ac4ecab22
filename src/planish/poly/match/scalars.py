"""The scalars of a definition as expressions of a nest.

>>> from planish.ir.types import F32, F64
>>> bound: dict[str, Scale] = {}
>>> bind(Var("alpha", F64), (True, (Var("a", F32), Var("b", F32))), bound)
>>> print_expr(spelt(bound["alpha"], "mul", F32))
'-(a * b)'
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from planish.ir.expr import BinaryOp, Const, Expr, Unary, Var
from planish.ir.text.printer import print_expr
from planish.ir.types import Type
from planish.poly.match.normal_form import NormalForm, Term
from planish.poly.match.operands import OperandMismatchError
from planish.poly.match.sum_of_products import INNER, join, print_coefficient

Scale = tuple[bool, tuple[Expr, ...]]
"""A coefficient: whether it is negative, and what it is the product of."""


def number(value: int, kind: Type) -> Expr:
    return Const(float(value) if kind.is_float else value, kind)


def bind_scalars(wanted: Set[str], own: NormalForm, terms: Sequence[tuple[Term, Term]], kind: Type) -> dict[str, Expr]:
    """The scalars of the definition as expressions of the nest."""
    bound: dict[str, Scale] = {}
    inner = INNER[own.op] or "mul"
    for a, b in terms:
        for x, y in zip(a.heads, b.heads, strict=True):
            for one, two in zip(x.scalars, y.scalars, strict=True):
                bind(one, (False, (two,)), bound)
    for a, b in sorted(terms, key=lambda x: len(x[0].coefficients)):
        _bind_coefficients(a, b, bound)
    if wanted - bound.keys():
        raise OperandMismatchError(f"nothing says what `{min(wanted - bound.keys())}` is", 1)
    return {name: spelt(scale, inner, kind) for name, scale in bound.items()}


def spelt(scale: Scale, inner: BinaryOp, kind: Type) -> Expr:
    negative, parts = scale
    if not parts:
        value = number(0 if inner == "add" else 1, kind)
    else:
        value = join(inner, parts)
    return Unary("neg", value) if negative else value


def bind(own: Expr, scale: Scale, bound: dict[str, Scale]) -> None:
    match own:
        case Var(name=name):
            if bound.setdefault(name, scale) != scale:
                raise OperandMismatchError(f"`{name}` is `{_text(scale)}` here and `{_text(bound[name])}` there", 2)
        case Const(value=value):
            if scale[0] or len(scale[1]) != 1 or not isinstance(scale[1][0], Const) or scale[1][0].value != value:
                raise OperandMismatchError(f"`{_text(scale)}` stands where the definition has {value}", 2)
        case _:
            raise OperandMismatchError(f"`{print_expr(own)}` in the definition is no scalar", 1)


def _text(scale: Scale) -> str:
    return print_coefficient(*scale)


def _bind_coefficients(own: Term, other: Term, bound: dict[str, Scale]) -> None:
    """Bind the scalars that a product of the definition is multiplied by."""
    negative, rest, free = own.negative != other.negative, list(other.coefficients), list[str]()
    for x in own.coefficients:
        match x:
            case Var(name=name) if name not in bound and name not in free:
                free.append(name)
                continue
            case Var(name=name) if name in bound:
                flips, parts = bound[name]
                negative ^= flips
            case Const(value=value):
                parts = tuple(y for y in rest if isinstance(y, Const) and y.value == value)[:1] or (x,)
            case _:
                parts = (x,)
        for part in parts:
            if part not in rest:
                raise OperandMismatchError(f"`{other.describe()}` is not multiplied by `{print_expr(part)}`", 3)
            rest.remove(part)
    if len(free) > 1:
        raise OperandMismatchError("the definition multiplies by two scalars", 1)
    if free:
        bound[free[0]] = (negative, tuple(rest))
    elif rest or negative:
        more = print_coefficient(negative, tuple(rest))
        raise OperandMismatchError(f"`{other.describe()}` is multiplied by `{more}`, which is not in the definition", 3)
