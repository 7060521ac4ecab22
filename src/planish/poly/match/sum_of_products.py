"""Values as sums of products: constant coefficients times loaded factors.

>>> from planish.ir.expr import Load
>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(x: f64; A: f64[4], B: f64[4]) { A[0] = x * (A[1] - 2.0 * B[3] * A[2]) }"
>>> for product in products(parse_kernel(text).body.body[0].value):
...     print(product)
x * A[1]
-(2.0:f64 * x) * B[3] * A[2]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planish.ir.expr import Binary, BinaryOp, Const, Expr, Load, Unary, Var, type_of
from planish.ir.nest import ReduceOp
from planish.ir.text.printer import print_expr
from planish.ir.traverse import chained, children, loads, walk_expr, with_children
from planish.ir.types import INDEX
from planish.poly.match.operand_orders import in_order


class NoFormError(Exception):
    """A value, a statement or a nest that has no normal form; the text says why."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A load, or a function of loads that is taken as a whole: `head` is its text with the loads numbered (#0, #1, …)
    and the scalars in it as well ($0, $1, …), "" for a load by itself; `skeleton` is that as an expression."""

    head: str
    loads: tuple[Load, ...]
    scalars: tuple[Expr, ...] = ()
    skeleton: Expr | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return spell(self.head, tuple(map(print_expr, self.loads)), self.scalars)


def spell(head: str, loads: tuple[str, ...], scalars: tuple[Expr, ...]) -> str:
    """A factor as text, from the texts of its loads."""
    if not head:
        return loads[0]
    for sign, texts in (("#", loads), ("$", tuple(map(print_expr, scalars)))):
        for n, text in reversed(list(enumerate(texts))):
            head = head.replace(f"{sign}{n}", text)
    return head


@dataclass(frozen=True, slots=True)
class ProductTerm:
    """Factors times the coefficients (expressions without loads) that are not 1, and a sign."""

    negative: bool
    coefficients: tuple[Expr, ...]
    factors: tuple[Factor, ...]

    def __str__(self) -> str:
        parts = [*map(str, self.factors)]
        if self.coefficients or self.negative or not parts:
            parts.insert(0, print_coefficient(self.negative, self.coefficients))
        return " * ".join(parts)

    def times(self, other: ProductTerm) -> ProductTerm:
        """The product of two."""
        coefficients = tuple(sorted((*self.coefficients, *other.coefficients), key=_order))
        return ProductTerm(self.negative != other.negative, coefficients, (*self.factors, *other.factors))


Scale = tuple[bool, tuple[Expr, ...]]
"""A coefficient: whether it is negative, and what it is the product of."""


def add_coefficients(a: Scale, b: Scale) -> Scale | None:
    """The sum of two coefficients that differ in their floating-point numbers only, if it is not zero.

    >>> from planish.ir.types import F64
    >>> half = Const(0.5, F64)
    >>> add_coefficients((True, (half, half)), (False, ()))[1][0].value
    0.75
    """
    (number, rest), (other, same) = _separated(a), _separated(b)
    kinds = {x.type for x in (*a[1], *b[1]) if isinstance(x, Const)}
    total = number + other
    if rest != same or len(kinds) != 1 or not next(iter(kinds)).is_float or total == 0:
        return None
    scale = () if abs(total) == 1 else (Const(abs(total), next(iter(kinds))),)
    return total < 0, tuple(sorted((*scale, *rest), key=_order))


def _separated(scale: Scale) -> tuple[float, tuple[Expr, ...]]:
    """The numbers of a coefficient as one, and the rest."""
    value = -1.0 if scale[0] else 1.0
    for x in scale[1]:
        value *= x.value if isinstance(x, Const) else 1.0
    return value, tuple(x for x in scale[1] if not isinstance(x, Const))


ONE = ProductTerm(False, (), ())


def _order(expr: Expr) -> tuple[bool, str]:
    return not isinstance(expr, Const), repr(expr)


def print_coefficient(negative: bool, coefficients: tuple[Expr, ...]) -> str:
    """A coefficient as text."""
    if not coefficients:
        return "-1" if negative else "1"
    value = print_expr(join("mul", coefficients))
    if not negative:
        return value
    return f"-{value}" if len(coefficients) == 1 else f"-({value})"


def join(op: BinaryOp, parts: tuple[Expr, ...]) -> Expr:
    """One or more expressions joined by an operator."""
    out = parts[0]
    for x in parts[1:]:
        out = Binary(op, out, x)
    return out


def products(value: Expr) -> list[ProductTerm]:
    """The sum of products that a value is; products of two sums stay as they are. Raises NoFormError."""
    match value:
        case Const(value=number):
            return [] if number == 0 else [replace(ONE, coefficients=() if number == 1 else (value,))]
        case Unary(op="neg", operand=x):
            return [replace(p, negative=not p.negative) for p in products(x)]
        case Binary(op="add", left=a, right=b):
            return [*products(a), *products(b)]
        case Binary(op="sub", left=a, right=b):
            return [*products(a), *(replace(p, negative=not p.negative) for p in products(b))]
        case Binary(op="mul", left=a, right=b):
            return _product(products(a), products(b), a, b)
        case Binary(op="div", left=a, right=b):
            return [p.times(q) for q in _reciprocal(b) for p in products(a)]
        case _:
            return [_whole(value)]


def _product(left: list[ProductTerm], right: list[ProductTerm], a: Expr, b: Expr) -> list[ProductTerm]:
    """Two sums multiplied, term by term where that adds up no more often than before."""
    if len(left) > 1 and len(right) > 1:
        left, right = [_whole(a)], [_whole(b)]
    return [p.times(q) for p in left for q in right]


def _reciprocal(divisor: Expr) -> list[ProductTerm]:
    return [_whole(Binary("div", Const(1.0, type_of(divisor)), divisor))]


def _whole(value: Expr) -> ProductTerm:
    """A value as one factor, or one coefficient where nothing is loaded."""
    if isinstance(value, Load):
        return replace(ONE, factors=(Factor("", (value,)),))
    if not loads(value):
        _require_data(value)
        return replace(ONE, coefficients=(value,))
    return replace(ONE, factors=(whole(value),))


def _require_data(value: Expr) -> None:
    """Raise NoFormError where an iterator or a size is used as data (the subscripts of loads are none)."""
    for x in walk_expr(value):
        if isinstance(x, Var) and x.type == INDEX:
            raise NoFormError(f"`{x.name}` is used as a value")


def whole(value: Expr) -> Factor:
    """A value as one factor, the loads and scalars in it in order and numbered; raises NoFormError."""
    found: list[Load] = []
    scalars: list[Expr] = []

    def visit(x: Expr) -> Expr:
        match x:
            case Load(type=t):
                found.append(x)
                return Var(f"#{len(found) - 1}", t)
            case Var(name=name, type=t) if t == INDEX:
                raise NoFormError(f"`{name}` is used as a value")
            case Var(type=t) | Const(type=t):
                scalars.append(x)
                return Var(f"${len(scalars) - 1}", t)
            case _:
                return with_children(x, tuple(visit(y) for y in children(x)))

    skeleton = visit(in_order(value))
    return Factor(print_expr(skeleton), tuple(found), tuple(scalars), skeleton)


def joined(value: Expr, op: ReduceOp) -> list[ProductTerm]:
    """The terms that an update by `op` combines: sums of products for a sum; for another operator one term, in which
    the operands of its inner operator stand as factors and coefficients (`min(c, a + b)`, `c or (a and b)`).

    Raises NoFormError."""
    if op == "add":
        return products(value)
    inner = INNER[op]
    out = ONE
    for part in chained(value, inner) if inner else [value]:
        out = out.times(_whole(part))
    return [out]


INNER: Mapping[ReduceOp, BinaryOp | None] = {
    "add": "mul", "min": "add", "max": "add", "or": "and", "and": None, "mul": None, "xor": "and",
}  # fmt: skip
"""The operator within the terms that another one combines, over which it distributes."""


