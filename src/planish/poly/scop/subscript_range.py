"""The range of a subscript that is not affine, such as `y * stride + i`, or one that data choose.

An array that nothing is stored to carries no dependence. Where it is read need not be known exactly, only how far.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.index.polynomial import show
>>> kernel = parse_kernel("kernel k(n, s; x: f32[?], y: f32[n]) { for i in 0 .. n { y[i] = x[i * s] } }")
>>> at = kernel.body.body[0].body.body[0].value.index[0]
>>> [show(x) for x in bound_subscript(at, {"i": (index(0), index("n"))}, frozenset({"s"}))]
['0', 'n*s']
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import reduce
from itertools import product

import islpy as isl

from planish.ir.accesses import reads
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Select, Var, index, type_of
from planish.ir.index.interval import range_of
from planish.ir.index.polynomial import Monomial, add, build, constant, extremum, floordiv, mul, names, polynomial
from planish.ir.nest import For, Kernel
from planish.ir.traverse import walk
from planish.ir.types import INDEX
from planish.poly.isl.affine import NotAffineError, affine_function

Ends = tuple[Expr, Expr]
"""The least and the greatest value."""
FARTHEST = 1 << 20
"""Values of data that may be farther from zero than this bound no subscript: a table is not as long."""


def bound_subscript(expr: Expr, ranges: Mapping[str, Ends], positive: Set[str]) -> Ends | None:
    """The least and the greatest value, as expressions of sizes; None where they are not known. `ranges`: those of the
    iterators, of which none may be empty; `positive`: sizes that are known not to be negative."""
    low, high = index(0), index(0)
    for monomial, factor in polynomial(expr).items():
        ends = _bound_product(monomial, ranges, positive)
        if ends is None:
            return None
        least, most = ends if factor > 0 else ends[::-1]
        low, high = add(low, mul(index(factor), least)), add(high, mul(index(factor), most))
    return low, high


def _bound_product(monomial: Monomial, ranges: Mapping[str, Ends], positive: Set[str]) -> Ends | None:
    out: Ends = (index(1), index(1))
    for atom in monomial:
        ends = _bound_atom(atom, ranges, positive)
        if ends is None:
            return None
        if all(_is_positive(x[0], positive) for x in (out, ends)):
            out = mul(out[0], ends[0]), mul(out[1], ends[1])
        else:
            corners = [mul(a, b) for a, b in product(dict.fromkeys(out), dict.fromkeys(ends))]
            out = _extreme("min", corners), _extreme("max", corners)
    return out


def _extreme(op: str, parts: list[Expr]) -> Expr:
    return reduce(lambda a, b: extremum(op, a, b), parts)


def _bound_atom(atom: Expr, ranges: Mapping[str, Ends], positive: Set[str]) -> Ends | None:
    match atom:
        case Var(name=name, type=type) if type == INDEX:
            return ranges.get(name, (atom, atom))
        case Binary(op="min" | "max" as op, left=a, right=b):
            first, second = (bound_subscript(x, ranges, positive) for x in (a, b))
            if first is None or second is None:
                return None
            return extremum(op, first[0], second[0]), extremum(op, first[1], second[1])
        case Binary(op="floordiv", left=a, right=b) if (constant(b) or 0) > 0:
            ends = bound_subscript(a, ranges, positive)
            return None if ends is None else (floordiv(ends[0], b), floordiv(ends[1], b))
        case Binary(op="mod", right=Const(value=value)) if value > 0:
            return index(0), index(int(value) - 1)
        case Cast() | Select():
            data = data_range(atom)
            return None if data is None else (index(data[0]), index(data[1]))
        case _:
            return None


def data_range(expr: Expr) -> tuple[int, int] | None:
    """Between which numbers a value lies that data choose; None where it may be far from zero."""
    if not type_of(expr).is_int:
        return None
    low, high = range_of(expr, {})
    return (low, high) if low >= -FARTHEST and high <= FARTHEST else None


def _is_positive(expr: Expr, positive: Set[str]) -> bool:
    """Whether an expression is seen not to be negative."""
    terms = polynomial(expr)
    return all(c > 0 and names(build({m: 1})) <= positive for m, c in terms.items())


def forward_conditions(kernel: Kernel) -> tuple[Expr, ...]:
    """Conditions that the sizes which iterators are multiplied by are not negative, in subscripts that are not affine:
    these then lie between what they are at the least and the greatest iterators."""
    moving = {x.var for x in walk(kernel.body) if isinstance(x, For)}
    found: dict[Expr, None] = {}
    for load in reads(kernel.body):
        for monomial in (m for x in load.index for m in polynomial(x) if len(m) > 1):
            sizes = (x for x in monomial if isinstance(x, Var) and x.name in kernel.sizes)
            found |= {Compare("ge", x, index(0)): None for x in sizes if moving & set().union(*map(names, monomial))}
    return tuple(x for x in found if x not in kernel.assumptions)


def range_relation(expr: Expr, domain: isl.Set) -> isl.Map:
    """Instances to all values that a subscript may have which is not affine: between its ends, if isl can hold these.
    """
    ends = _affine_ends(expr, domain.get_space())
    out = isl.Map.from_domain(domain).add_dims(isl.dim_type.out, 1)
    if ends is None:
        return out
    low, high = (isl.Map.from_pw_aff(x) for x in ends)
    context = domain.get_ctx()
    above = low.apply_range(isl.Map.read_from_str(context, "{ [a] -> [d] : d >= a }"))
    below = high.apply_range(isl.Map.read_from_str(context, "{ [a] -> [d] : d <= a }"))
    return out.intersect(above).intersect(below)


def _affine_ends(expr: Expr, space: isl.Space) -> tuple[isl.PwAff, isl.PwAff] | None:
    """The least and the greatest value as functions of iterators and sizes; None where these are no such functions."""
    low = high = affine_function(index(0), space)
    for monomial, factor in polynomial(expr).items():
        data = data_range(monomial[0]) if len(monomial) == 1 and isinstance(monomial[0], Cast | Select) else None
        if data is not None:
            parts = [affine_function(index(factor * x), space) for x in (data if factor > 0 else data[::-1])]
        else:
            try:
                parts = 2 * [affine_function(build({monomial: factor}), space)]
            except NotAffineError:
                return None
        low, high = low.add(parts[0]), high.add(parts[1])
    return low, high
