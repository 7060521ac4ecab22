"""isl's affine functions, constraints and sets as index expressions and conditions of the IR.

>>> import islpy as isl
>>> from planish.ir.expr import index
>>> aff_expr(isl.Aff("[n] -> { [i] -> [(i + 2n)] }"), (index("i"),)).op
'add'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

import islpy as isl

from planish.ir.expr import Binary, Compare, CompareOp, Const, Expr, Select, Unary, Var, index, type_of
from planish.ir.semantics.arithmetic import quotient, remainder
from planish.ir.traverse import count_work
from planish.ir.types import BOOL, INDEX
from planish.poly.isl.affine import source_name
from planish.poly.isl.coalesce import coalesce, coalesce_function

ZERO = index(0)
TRUE = Const(True, BOOL)
FALSE = Const(False, BOOL)
Terms = list[tuple[int, Expr]]


def add(a: Expr, b: Expr) -> Expr:
    """a + b with constants folded."""
    match a, b:
        case Const(value=x), Const(value=y):
            return index(int(x) + int(y))
        case Const(value=0), _:
            return b
        case _, Const(value=0):
            return a
        case Binary(op="add", left=base, right=Const(value=x)), Const(value=y):
            return add(base, index(int(x) + int(y)))
        case _, Const(value=y) if int(y) < 0:
            return Binary("sub", a, index(-int(y)))
        case Const(), _:
            return add(b, a)
        case _, Unary(op="neg", operand=x):
            return Binary("sub", a, x)
        case _:
            return Binary("add", a, b)


def scale(factor: int, a: Expr) -> Expr:
    """factor * a with constants folded."""
    match factor, a:
        case 0, _:
            return ZERO
        case 1, _:
            return a
        case _, Const(value=x):
            return index(factor * int(x))
        case -1, _:
            return Unary("neg", a)
        case _:
            return Binary("mul", index(factor), a)


def conjunction(parts: Iterable[Expr]) -> Expr:
    """All of the conditions; true where there are none."""
    return _join("and", parts, TRUE)


def disjunction(parts: Iterable[Expr]) -> Expr:
    """Any of the conditions; false where there are none."""
    return _join("or", parts, FALSE)


def _join(op: str, parts: Iterable[Expr], neutral: Const) -> Expr:
    out: Expr = neutral
    for part in parts:
        if part == neutral:
            continue
        if isinstance(part, Const):
            return part
        out = part if out == neutral else Binary("and" if op == "and" else "or", out, part)
    return out


def extremum(op: str, parts: Sequence[Expr]) -> Expr:
    """The minimum ("min") or maximum ("max") of one or more expressions, constants joined, duplicates dropped."""
    pick = min if op == "min" else max
    constants = [int(x.value) for x in parts if isinstance(x, Const)]
    rest: list[Expr] = list(dict.fromkeys(x for x in parts if not isinstance(x, Const)))
    if constants:
        rest.append(index(pick(constants)))
    out = rest[0]
    for part in rest[1:]:
        out = Binary("min" if op == "min" else "max", out, part)
    return out


def _integer(value: isl.Val) -> int:
    return int(value.to_python())


def _terms(aff: isl.Aff, dims: Sequence[Expr]) -> tuple[Terms, int, int]:
    """An affine function as terms, constant and denominator: (sum of c*x + constant) / denominator, all integers."""
    denominator = _integer(aff.get_denominator_val())
    if denominator > 1:
        aff = aff.scale_val(isl.Val.int_from_si(aff.get_ctx(), denominator))

    def coefficient(kind: isl.dim_type, position: int) -> int:
        value = aff.get_coefficient_val(kind, position)
        return 0 if value.is_zero() else _integer(value)

    terms: Terms = []
    for i in range(aff.dim(isl.dim_type.in_)):
        if c := coefficient(isl.dim_type.in_, i):
            terms.append((c, dims[i]))
    for i in range(aff.dim(isl.dim_type.param)):
        if c := coefficient(isl.dim_type.param, i):
            terms.append((c, Var(source_name(str(aff.get_dim_name(isl.dim_type.param, i))), INDEX)))
    for i in range(aff.dim(isl.dim_type.div)):
        if c := coefficient(isl.dim_type.div, i):
            terms.append((c, _floor(aff.get_div(i), dims)))
    return _expand(terms), _integer(aff.get_constant_val()), denominator


def _expand(terms: Terms) -> Terms:
    """Terms whose expression is itself a sum of variables are opened, so that equal variables meet and cancel."""
    total: dict[Expr, int] = {}

    def put(factor: int, expr: Expr) -> None:
        match expr:
            case Binary(op="add", left=a, right=b):
                put(factor, a)
                put(factor, b)
            case Binary(op="sub", left=a, right=b):
                put(factor, a)
                put(-factor, b)
            case Binary(op="mul", left=Const(value=c), right=b):
                put(factor * int(c), b)
            case Binary(op="mul", left=b, right=Const(value=c)):
                put(factor * int(c), b)
            case Unary(op="neg", operand=a):
                put(-factor, a)
            case Const(value=c):
                total[_ONE] = total.get(_ONE, 0) + factor * int(c)
            case _:
                total[expr] = total.get(expr, 0) + factor

    for factor, expr in terms:
        put(factor, expr)
    return [(c, x) for x, c in total.items() if c]


_MOST_PIECES = 4
"""A function of more pieces is not tried as their least or greatest."""
_ONE = Const(1, INDEX)


def _sum(terms: Terms, constant: int) -> Expr:
    constant += sum(c for c, x in terms if x == _ONE)
    rest = [(c, x) for c, x in terms if x != _ONE]
    out: Expr = ZERO
    for c, x in sorted(rest, key=_place) if len(rest) > 1 else rest:
        if c < 0 and out != ZERO:
            out = Binary("sub", out, scale(-c, x))
        else:
            out = add(out, scale(c, x))
    return add(out, index(constant))


def _place(term: tuple[int, Expr]) -> tuple[bool, bool, str]:
    """Where a term stands in a sum: positive ones first, divisions before variables, these by name."""
    factor, x = term
    return factor < 0, isinstance(x, Var), x.name if isinstance(x, Var) else str(x)


def _floor(aff: isl.Aff, dims: Sequence[Expr]) -> Expr:
    terms, constant, denominator = _terms(aff, dims)
    return floor_div(_sum(terms, constant), denominator)


def floor_div(a: Expr, divisor: int) -> Expr:
    """floor(a / divisor) for a positive constant divisor."""
    match a:
        case _ if divisor == 1:
            return a
        case Const(value=x):
            return index(int(x) // divisor)
        case _:
            return Binary("floordiv", a, index(divisor))


def aff_expr(aff: isl.Aff, dims: Sequence[Expr]) -> Expr:
    """The value of an affine function whose inputs are `dims`, in normal form if these are; fractional ones (after
    floor) divide exactly."""
    terms, constant, denominator = _terms(aff, dims)
    return floor_div(_sum(terms, constant), denominator)


def bound_expr(constraint: isl.Constraint, position: int, dims: Sequence[Expr]) -> Expr:
    """The bound that an inequality (or equality) gives to set dimension `position`: ceiling for lower, floor for upper;
    in normal form if `dims` are.

    The constraint reads a*x + rest >= 0; a > 0 gives x >= ceil(-rest/a), a < 0 gives x <= floor(rest/-a).
    """
    a = _integer(constraint.get_coefficient_val(isl.dim_type.set, position))
    aff = constraint.get_aff().set_coefficient_val(isl.dim_type.in_, position, 0)
    terms, constant, _ = _terms(aff, dims)
    if a < 0:
        return floor_div(_sum(terms, constant), -a)
    return floor_div(_sum([(-c, x) for c, x in terms], -constant + a - 1), a)


def constraint_expr(constraint: isl.Constraint, dims: Sequence[Expr]) -> Expr:
    """A constraint as a comparison with the negative terms moved to the right side."""
    terms, constant, _ = _terms(constraint.get_aff(), dims)
    constant += sum(c for c, x in terms if x == _ONE)
    terms = [(c, x) for c, x in terms if x != _ONE]
    left = [(c, x) for c, x in terms if c > 0]
    right = [(-c, x) for c, x in terms if c < 0]
    if constraint.is_equality():
        return _comparison("eq", _sum(left, max(constant, 0)), _sum(right, max(-constant, 0)))
    if not left:
        return _comparison("le", _sum(right, 0), index(constant))
    if constant == -1:
        return _comparison("gt", _sum(left, 0), _sum(right, 0))
    return _comparison("ge", _sum(left, max(constant, 0)), _sum(right, max(-constant, 0)))


def _comparison(op: CompareOp, left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        a, b = int(left.value), int(right.value)
        return Const({"eq": a == b, "le": a <= b, "ge": a >= b, "gt": a > b}[op], BOOL)
    flipped: dict[CompareOp, CompareOp] = {"ge": "le", "gt": "lt", "le": "ge", "eq": "eq"}
    if isinstance(left, Const):
        return Compare(flipped[op], right, left)
    match op, right:
        case "gt" | "ge", Var() | Binary() if isinstance(left, Var | Binary) and _is_size(right) < _is_size(left):
            return Compare(flipped[op], right, left)
        case _:
            return Compare(op, left, right)


def _is_size(expr: Expr) -> int:
    return 1 if isinstance(expr, Var) else 0


def set_condition(domain: isl.Set, dims: Sequence[Expr]) -> Expr:
    """Membership of the point `dims` in a set, as a condition; existentials must have explicit forms."""
    parts = []
    # Coalescing may lose the explicit form of a division again.
    for basic in coalesce(domain.compute_divs()).compute_divs().get_basic_sets():
        tests = [constraint_expr(c, dims) for c in basic.get_constraints() if not _defines_division(c)]
        # The first test that fails is the last one made, so that those without a division come first.
        parts.append(conjunction(sorted(tests, key=count_work)))
    return disjunction(parts)


def _defines_division(constraint: isl.Constraint) -> bool:
    return bool(constraint.is_div_constraint())


def piecewise_expr(function: isl.PwAff, dims: Sequence[Expr]) -> Expr:
    """The value of a piecewise function at `dims`: nested selections, the last piece without a test."""
    return select_expr(list(coalesce_function(function).get_pieces()), dims)


def extreme_expr(function: isl.PwAff, context: isl.Set) -> Expr:
    """The value of a function of parameters wherever they are in `context`: the least or the greatest of its pieces,
    where it is that."""
    function = function.gist(context)
    pieces = [aff for _, aff in coalesce_function(function).get_pieces()]
    if 1 < len(pieces) <= _MOST_PIECES:
        parts = [isl.PwAff.from_aff(aff) for aff in pieces]
        spelt = [aff_expr(aff, ()) for aff in pieces]
        if context.is_subset(reduce(isl.PwAff.min, parts).eq_set(function)):
            return reduce(lambda a, b: Binary("min", a, b), spelt)
        if context.is_subset(reduce(isl.PwAff.max, parts).eq_set(function)):
            return reduce(lambda a, b: Binary("max", a, b), spelt)
    return piecewise_expr(function, ())


def select_expr(pieces: Sequence[tuple[isl.Set, isl.Aff]], dims: Sequence[Expr]) -> Expr:
    """The value of the first piece whose domain holds the point `dims`; the last one's domain is not tested."""
    if not pieces:
        raise ValueError("a function that is defined nowhere has no expression")
    out = aff_expr(pieces[-1][1], dims)
    for domain, aff in reversed(pieces[:-1]):
        out = Select(set_condition(domain, dims), aff_expr(aff, dims), out)
    return out


def normalise(expr: Expr) -> Expr:
    """An index expression as a sum in normal form, so that equal affine expressions are equal values.

    Anything of another type stays as it is: floats are not to be summed in another order.
    """
    if isinstance(expr, Const | Var) or type_of(expr) != INDEX:
        return expr
    match expr:
        case Unary(op="neg") | Binary(op="add" | "sub" | "mul"):
            return _sum(_expand([(1, _parts_normalised(expr))]), 0)
        case Binary(op="floordiv" | "quo" | "mod" | "rem" | "min" | "max"):
            return _folded(Binary(expr.op, normalise(expr.left), normalise(expr.right)))
        case _:
            return expr


def _folded(expr: Binary) -> Expr:
    """A division or an extremum of constants as its value."""
    match expr:
        case Binary(op=op, left=Const(value=a), right=Const(value=b)):
            x, y = int(a), int(b)
            if op in ("min", "max"):
                return index(min(x, y) if op == "min" else max(x, y))
            if y == 0:
                return expr
            values = {"floordiv": x // y, "mod": x % y, "quo": quotient(x, y), "rem": remainder(x, y)}
            return index(values[op])
        case _:
            return expr


def _parts_normalised(expr: Expr) -> Expr:
    match expr:
        case Binary(op="mul", left=a, right=b):
            left, right = normalise(a), normalise(b)
            if isinstance(right, Const):
                left, right = right, left
            return scale(int(left.value), right) if isinstance(left, Const) else Binary("mul", left, right)
        case Binary(op="add" | "sub" as op, left=a, right=b):
            return Binary(op, _parts_normalised(a), _parts_normalised(b))
        case Unary(op="neg", operand=a):
            return Unary("neg", _parts_normalised(a))
        case _:
            return normalise(expr)
