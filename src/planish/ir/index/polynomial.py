"""Index expressions in a normal form: a sum of products, so that equal values have equal expressions.

>>> from planish.ir.expr import Var
>>> n, i = Var("n", INDEX), Var("i", INDEX)
>>> show(normal(add(sub(n, index(1)), neg(sub(i, n)))))
'2*n - i - 1'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import assert_never

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, index, type_of
from planish.ir.traverse import children, map_expr, walk_expr
from planish.ir.types import INDEX

Monomial = tuple[Expr, ...]
Polynomial = dict[Monomial, int]
"""Integer coefficients of products of atoms (variables, and quotients, remainders, extrema as wholes)."""


def add(a: Expr, b: Expr) -> Expr:
    """a + b, in normal form."""
    return build(_plus(polynomial(a), polynomial(b), 1))


def sub(a: Expr, b: Expr) -> Expr:
    """a - b, in normal form."""
    return build(_plus(polynomial(a), polynomial(b), -1))


def mul(a: Expr, b: Expr) -> Expr:
    """a * b, in normal form."""
    return build(_times(polynomial(a), polynomial(b)))


def neg(a: Expr) -> Expr:
    """-a, in normal form."""
    return build({m: -c for m, c in polynomial(a).items()})


def floordiv(a: Expr, b: Expr) -> Expr:
    """a / b rounded down; exact multiples of a constant divisor are carried out, and a quotient of a quotient is one.

    >>> n = Var("n", INDEX)
    >>> show(floordiv(floordiv(n, index(2)), index(3)))
    'n/6'
    """
    if isinstance(b, Const) and b.value:
        terms, divisor = polynomial(a), int(b.value)
        if all(c % divisor == 0 for c in terms.values()):
            return build({m: c // divisor for m, c in terms.items()})
        match a:
            case Binary(op="floordiv", left=inner, right=Const(value=value)) if value > 0 and divisor > 0:
                return floordiv(inner, index(int(value) * divisor))
    return Binary("floordiv", a, b)


def mod(a: Expr, b: Expr) -> Expr:
    """a - b * floor(a / b)."""
    if isinstance(b, Const) and b.value:
        if all(c % int(b.value) == 0 for c in polynomial(a).values()):
            return index(0)
        if isinstance(a, Const):
            return index(int(a.value) % int(b.value))
    return Binary("mod", a, b)


def extremum(op: str, a: Expr, b: Expr) -> Expr:
    """`min` or `max` of two index expressions, decided where their difference is constant."""
    difference = constant(sub(a, b))
    if op == "max":
        return Binary("max", a, b) if difference is None else a if difference >= 0 else b
    return Binary("min", a, b) if difference is None else a if difference <= 0 else b


def constant(expr: Expr) -> int | None:
    """The value of an index expression that has one."""
    terms = polynomial(expr)
    if not terms:
        return 0
    return terms[()] if set(terms) == {()} else None


def normal(expr: Expr) -> Expr:
    """The normal form of an index expression."""
    if isinstance(expr, Var):
        return expr
    return build(polynomial(expr))


def same(a: Expr, b: Expr) -> bool:
    """Whether two index expressions are equal as polynomials."""
    return not _plus(polynomial(a), polynomial(b), -1)


def polynomial(expr: Expr) -> Polynomial:
    """The sum of products that an index expression is; terms keep the order in which they are written."""
    match expr:
        case Const(value=value):
            return {(): int(value)} if value else {}
        case Binary(op="add", left=a, right=b):
            return _plus(polynomial(a), polynomial(b), 1)
        case Binary(op="sub", left=a, right=b):
            return _plus(polynomial(a), polynomial(b), -1)
        case Binary(op="mul", left=a, right=b):
            return _times(polynomial(a), polynomial(b))
        case Unary(op="neg", operand=a):
            return {m: -c for m, c in polynomial(a).items()}
        case Var() | Load() | Unary() | Binary() | Compare() | Select() | Cast() | Call():
            return {(expr,): 1}
        case _:
            assert_never(expr)


def _plus(a: Polynomial, b: Polynomial, sign: int) -> Polynomial:
    out = dict(a)
    for monomial, coefficient in b.items():
        value = out.get(monomial, 0) + sign * coefficient
        if value:
            out[monomial] = value
        else:
            out.pop(monomial, None)
    return out


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    out: Polynomial = {}
    for m, c in a.items():
        for n, d in b.items():
            out = _plus(out, {_product(m, n): c * d}, 1)
    return out


def _product(m: Monomial, n: Monomial) -> Monomial:
    return tuple(sorted((*m, *n), key=repr))


def cofactor(monomial: Monomial, by: Monomial) -> Monomial | None:
    """What a product is a multiple of another one by; None where it is no multiple."""
    rest = list(monomial)
    for atom in by:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def divided(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """`(quotient, rest)` with a = quotient * b + rest as polynomials; b is not 0. The rest is no multiple of b's
    leading product, and may be negative or more than b.

    >>> i, j, n = Var("i", INDEX), Var("j", INDEX), Var("n", INDEX)
    >>> row = sub(n, index(2))
    >>> [show(x) for x in divided(add(mul(i, row), j), row)]
    ['i', 'j']
    """
    terms, divisor = polynomial(a), polynomial(b)
    lead = max(divisor, key=_rank)
    quotient: Polynomial = {}
    rest: Polynomial = {}
    while terms:
        monomial = max(terms, key=_rank)
        other, coefficient = cofactor(monomial, lead), terms[monomial]
        if other is not None and coefficient % divisor[lead] == 0:
            part = {other: coefficient // divisor[lead]}
            quotient = _plus(quotient, part, 1)
            terms = _plus(terms, _times(part, divisor), -1)
        else:
            rest[monomial] = terms.pop(monomial)
    return build(quotient), build(rest)


def exact_quotient(a: Expr, b: Expr) -> Expr | None:
    """What times b is a; None where there is no such polynomial."""
    quotient, rest = divided(a, b)
    return quotient if constant(rest) == 0 else None


def chain(divisors: tuple[Expr, ...], divisor: Expr) -> tuple[Expr, ...] | None:
    """Divisors, each a multiple of the next one, with one more; None where it is there already or does not fit.

    >>> h, w = Var("h", INDEX), Var("w", INDEX)
    >>> [show(x) for x in chain((mul(h, w),), w) or ()]
    ['h*w', 'w']
    """
    if any(same(x, divisor) for x in divisors):
        return None
    for position in range(len(divisors) + 1):
        longer = (*divisors[:position], divisor, *divisors[position:])
        if all(exact_quotient(a, b) is not None for a, b in pairwise(longer)):
            return longer
    return None


def degree(expr: Expr) -> int:
    """How many factors the longest product in an index expression has; 0 for a number."""
    return max((len(m) for m in polynomial(expr)), default=0)


def _rank(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    """An order of products that stays the same when all are multiplied by something: by degree, then by name."""
    return len(monomial), tuple(repr(x) for x in monomial)


def build(terms: Polynomial) -> Expr:
    """The expression of a sum of products: a positive term first, the constant last."""
    order = [x for x in terms.items() if x[0]]
    first = next((n for n, (_, c) in enumerate(order) if c > 0), 0)
    order = order[first : first + 1] + order[:first] + order[first + 1 :]
    if () in terms:
        order = (
            order + [((), terms[()])] if not order or order[0][1] > 0 or terms[()] < 0 else [((), terms[()]), *order]
        )
    out: Expr | None = None
    for monomial, coefficient in order:
        size = abs(coefficient)
        if out is None:
            out = _term(monomial, coefficient)
        else:
            out = Binary("add" if coefficient > 0 else "sub", out, _term(monomial, size))
    return out if out is not None else index(0)


def _term(monomial: Monomial, coefficient: int) -> Expr:
    out: Expr | None = None if coefficient in (1, -1) and monomial else index(coefficient)
    for atom in monomial:
        out = atom if out is None else Binary("mul", out, atom)
    if out is None:
        return index(coefficient)
    return Unary("neg", out) if coefficient == -1 and monomial else out


def place(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Put values in the place of variables, and bring the result to normal form."""
    return rebuild(lambda x: values.get(x.name, x) if isinstance(x, Var) else x, expr)


def rebuild(function: Callable[[Expr], Expr], expr: Expr) -> Expr:
    """Apply `function` to the leaves and the composed atoms of an index expression, and renormalise; numbers that are
    no indices keep their form."""

    def again(x: Expr) -> Expr:
        match x:
            case Binary() | Select() if type_of(x) != INDEX:
                return function(x)
            case Binary(op="floordiv", left=a, right=b):
                return floordiv(normal(a), normal(b))
            case Binary(op="mod", left=a, right=b):
                return mod(normal(a), normal(b))
            case Binary(op="min" | "max" as op, left=a, right=b):
                return extremum(op, normal(a), normal(b))
            case Select(condition=test, then=a, otherwise=b):
                return function(Select(test, normal(a), normal(b)))
            case _:
                return function(x)

    return normal(map_expr(again, expr))


def names(expr: Expr) -> frozenset[str]:
    """Variables in an index expression."""
    return frozenset(x.name for x in walk_expr(expr) if isinstance(x, Var))


def coefficient_of(expr: Expr, name: str) -> tuple[int, Expr] | None:
    """`(c, rest)` with expr = c * name + rest, c a number and `name` not in rest; None where that is not its form."""
    terms = polynomial(expr)
    variable = Var(name, INDEX)
    coefficient = terms.pop((variable,), 0)
    rest = build(terms)
    return None if name in names(rest) else (coefficient, rest)


def linear_in(expr: Expr, name: str) -> tuple[Polynomial, Expr] | None:
    """`(factor, rest)` with expr = factor * name + rest; None where the name stands in a power or inside an atom."""
    variable = Var(name, INDEX)
    factor: Polynomial = {}
    rest: Polynomial = {}
    for monomial, coefficient in polynomial(expr).items():
        if variable in monomial:
            others = list(monomial)
            others.remove(variable)
            factor[tuple(others)] = coefficient
        else:
            rest[monomial] = coefficient
    remaining = build(rest)
    if any(name in names(atom) for monomial in factor for atom in monomial) or name in names(remaining):
        return None
    return factor, remaining


def affine_over(expr: Expr, iterators: Iterable[str], parametric: bool) -> bool:
    """Whether every product holds at most one factor with iterators in it.

    With `parametric` such a factor may be multiplied by sizes (linearised subscripts), otherwise only by numbers.
    Quotients, remainders and extrema must themselves be affine, with constant divisors.
    """
    moving = frozenset(iterators)
    for monomial in polynomial(expr):
        bound = [atom for atom in monomial if names(atom) & moving]
        if len(bound) > 1 or (bound and len(monomial) > 1 and not parametric):
            return False
        if any(not _affine_atom(atom, moving) for atom in monomial):
            return False
    return True


def _affine_atom(atom: Expr, moving: frozenset[str]) -> bool:
    match atom:
        case Var():
            return True
        case Binary(op="floordiv" | "mod", left=a, right=b):
            divisor = constant(b)
            return divisor is not None and divisor > 0 and affine_over(a, moving, False)
        case Binary(op="min" | "max", left=a, right=b):
            return affine_over(a, moving, False) and affine_over(b, moving, False)
        case _:
            return False


_BINDS = {"add": 1, "sub": 1, "mul": 2, "floordiv": 2, "mod": 2}
"""How tightly operators bind their operands, in C and in Python."""


def show(expr: Expr) -> str:
    """An index expression as the user would write it, for remarks and for C.

    >>> n, h = Var("n", INDEX), Var("h", INDEX)
    >>> show(floordiv(n, mul(index(2), h))), show(Binary("mul", h, floordiv(n, index(2))))
    ('n/(2*h)', 'h*(n/2)')
    """
    match expr:
        case Const(value=value):
            return str(value)
        case Var(name=name):
            return name
        case Unary(operand=x):
            return f"-{_operand(x, 2)}"
        case Binary(op=op, left=a, right=b):
            sign = {"add": " + ", "sub": " - ", "mul": "*", "floordiv": "/", "mod": "%"}.get(op)
            if sign is None:
                return f"{op}({show(a)}, {show(b)})"
            binds = _BINDS[op]
            associates = op == "add" or (op == "mul" and isinstance(b, Binary) and b.op == "mul")
            return f"{_operand(a, binds)}{sign}{_operand(b, binds if associates else binds + 1)}"
        case Load(array=array):
            return array
        case Compare() | Select() | Cast() | Call():
            inner = ", ".join(show(x) for x in children(expr))
            return f"{type(expr).__name__.lower()}({inner})"
        case _:
            assert_never(expr)


def _operand(expr: Expr, least: int) -> str:
    """An operand of an operator that binds so tightly, in parentheses where its own one binds less."""
    looser = isinstance(expr, Binary) and _BINDS.get(expr.op, least) < least
    return f"({show(expr)})" if looser else show(expr)
