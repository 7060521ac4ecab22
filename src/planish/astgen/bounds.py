"""The values of one schedule dimension: bounds, stride, a single value, a constant number of values.

(Polyhedral AST generation, sections 5.2 to 5.6: projection, strides, degenerate loops, the bound to unroll from.)

>>> import islpy as isl
>>> find_range(isl.Set("[n] -> { [i] : 0 <= i < n }"), 0, isl.Set("[n] -> { [i] }"), ()).stride
1
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from planish.ir.expr import Binary, Expr, index
from planish.poly.expression import add, aff_expr, bound_expr, extremum, floor_div, normalise

SET = isl.dim_type.set
MOST_PIECES = 6
FAR = 64
"""A loop over a union may run through this many values without an instance; past it, the bounds of its pieces (at most
MOST_PIECES) are added to those of the hull."""


class UnboundedError(Exception):
    """A loop without a lower or an upper bound."""


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """The values of a dimension: from `lower` to `upper` (inclusive) by `stride`; `only` where there is just one.

    `hull` is the set of the constraints that the bounds (or the single value) enforce.
    """

    lower: Expr
    upper: Expr
    stride: int
    only: Expr | None
    hull: isl.Set


def find_range(domain: isl.Set, position: int, context: isl.Set, dims: tuple[Expr, ...]) -> Range:
    """The range of set dimension `position` (the last) of `domain`, given that `context` holds; may be too wide for a
    union of several pieces, never too narrow. Raises UnboundedError."""
    pieces = [p for p in domain.coalesce().get_basic_sets() if not context.intersect(p.to_set()).is_empty()]
    try:
        hull = _hull_range(domain, position, context, dims)
    except UnboundedError:
        if len(pieces) <= 1:
            raise
        return _piecewise_range(domain, pieces, position, context, dims)
    if hull.only is not None or not 1 < len(pieces) <= MOST_PIECES or not _scans_far(domain, pieces, position):
        return hull
    near = _piecewise_range(domain, pieces, position, context, dims)
    lower, upper = extremum("max", [hull.lower, near.lower]), extremum("min", [hull.upper, near.upper])
    return replace(hull, lower=lower, upper=upper)


def _piecewise_range(
    domain: isl.Set, pieces: list[isl.BasicSet], position: int, context: isl.Set, dims: tuple[Expr, ...]
) -> Range:
    """From the least lower to the greatest upper bound of the pieces; no constraint is enforced."""
    ranges = [_hull_range(p.to_set(), position, context, dims) for p in pieces]
    lower = extremum("min", [r.lower if r.only is None else r.only for r in ranges])
    upper = extremum("max", [r.upper if r.only is None else r.only for r in ranges])
    stride, offset = _stride(domain, position, dims)
    if stride > 1 and any(r.only is not None or r.stride != stride for r in ranges):
        # A single value is on the stride only where its piece is there.
        lower = _aligned(lower, stride, offset)
    return Range(lower, upper, stride, None, isl.Set.universe(domain.get_space()))


def _scans_far(domain: isl.Set, pieces: list[isl.BasicSet], position: int) -> bool:
    """Whether the hull's bounds may lie further than FAR outside the values of the pieces that are there."""
    hull = _plain(_convex(domain), position)
    slim = [_plain(p, position) for p in pieces]
    for sign in (1, -1):
        outer = [_bound(c, position) for c in _facing(hull.get_constraints(), position, sign)]
        inner = [(p, [_bound(c, position) for c in _facing(p.get_constraints(), position, sign)]) for p in slim]
        if not any(_is_close(inner, bound, position, sign) for bound in outer):
            return True
    return False


def _is_close(
    pieces: list[tuple[isl.BasicSet, list[isl.Aff]]], bound: isl.Aff, position: int, sign: int
) -> bool:
    """Whether one of the pieces begins near a bound wherever any is; they are given with their own bounds."""
    near = [all(_is_near(p.to_set(), own, bound, sign) for own in bounds) for p, bounds in pieces]
    if all(near) or not any(near):
        return all(near)
    covered = isl.Set.empty(pieces[0][0].get_space())
    for (piece, _), good in zip(pieces, near, strict=True):
        if good:
            covered = covered.union(piece.to_set().eliminate(SET, position, 1))
    for (piece, bounds), good in zip(pieces, near, strict=True):
        alone = piece.to_set().subtract(covered)
        if not good and not all(_is_near(alone, own, bound, sign) for own in bounds):
            return False
    return True


def _plain(basic: isl.BasicSet, position: int) -> isl.BasicSet:
    return basic.remove_unknown_divs().remove_divs_involving_dims(SET, position, 1)


def _bound(constraint: isl.Constraint, position: int) -> isl.Aff:
    return constraint.get_bound(SET, position)


def _is_near(domain: isl.Set, own: isl.Aff, bound: isl.Aff, sign: int) -> bool:
    """Whether a bound is at most FAR inside another one, wherever `domain` is."""
    if domain.is_empty():
        return True
    inside = own.sub(bound) if sign > 0 else bound.sub(own)
    scale = inside.get_denominator_val()
    distance = domain.max_val(inside.scale_val(scale))
    return bool(distance.is_neg() or (distance.is_rat() and distance.le(scale.mul(isl.Val(FAR)))))


def _hull_range(domain: isl.Set, position: int, context: isl.Set, dims: tuple[Expr, ...]) -> Range:
    known = context.simple_hull().remove_unknown_divs()
    hull = _convex(domain).remove_unknown_divs()
    slim = hull.gist(known).remove_divs_involving_dims(SET, position, 1)
    if slim.is_empty():
        return Range(_ZERO, index(-1), 1, None, slim.to_set())
    constraints = [c for c in slim.get_constraints() if c.involves_dims(SET, position, 1)]
    stride, offset = _stride(domain, position, dims)
    all_dims = (*dims, index(0))
    for c in constraints:
        if c.is_equality() and abs(_coefficient(c, position)) == 1:
            value = c.get_bound(SET, position)
            variable = isl.Aff.var_on_domain(value.get_domain_local_space(), SET, position)
            return Range(_ZERO, _ZERO, 1, normalise(bound_expr(c, position, all_dims)), variable.eq_set(value))
    lowers = [bound_expr(c, position, all_dims) for c in _facing(constraints, position, 1)]
    uppers = [bound_expr(c, position, all_dims) for c in _facing(constraints, position, -1)]
    if not lowers or not uppers:
        raise UnboundedError
    lower = extremum("max", [normalise(x) for x in lowers])
    upper = extremum("min", [normalise(x) for x in uppers])
    if stride > 1:
        lower = _aligned(lower, stride, offset)
    enforced = slim.drop_constraints_not_involving_dims(SET, position, 1)
    return Range(lower, upper, stride, None, enforced.to_set())


_ZERO = index(0)


def _convex(domain: isl.Set) -> isl.BasicSet:
    """The convex hull by constraints of a set; existentials get explicit forms first, so that none is lost."""
    explicit = domain.coalesce().compute_divs().coalesce()
    pieces = explicit.get_basic_sets()
    return pieces[0] if len(pieces) == 1 else explicit.simple_hull()


def _coefficient(constraint: isl.Constraint, position: int) -> int:
    return int(constraint.get_coefficient_val(SET, position).to_python())


def _facing(constraints: list[isl.Constraint], position: int, sign: int) -> list[isl.Constraint]:
    """Constraints that bound the dimension from below (sign 1) or above (-1); an equality does both."""
    out = []
    for c in constraints:
        if not c.involves_dims(SET, position, 1):
            continue
        if c.is_equality():
            flip = _coefficient(c, position) * sign < 0
            aff = c.get_aff()
            out.append(isl.Constraint.inequality_from_aff(aff.neg() if flip else aff))
        elif _coefficient(c, position) * sign > 0:
            out.append(c)
    return out


def _stride(domain: isl.Set, position: int, dims: tuple[Expr, ...]) -> tuple[int, Expr]:
    """The stride and an offset: every value is congruent to the offset modulo the stride."""
    info = domain.get_stride_info(position)
    stride = int(info.get_stride().to_python())
    if stride <= 1:
        return 1, _ZERO
    return stride, normalise(aff_expr(info.get_offset(), (*dims, _ZERO)))


def _aligned(lower: Expr, stride: int, offset: Expr) -> Expr:
    """The first value from `lower` on congruent to `offset`: offset + stride * ceil((lower - offset) / stride)."""
    difference = normalise(Binary("sub", lower, offset))
    steps = floor_div(normalise(add(difference, index(stride - 1))), stride)
    return normalise(add(offset, Binary("mul", index(stride), steps)))


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """A dimension of constant extent: its values are `base` + 0 … `count` - 1."""

    base: isl.Aff
    count: int


def find_copies(domain: isl.Set, position: int) -> Copies:
    """The lower bound to unroll from: the one that leaves the fewest copies (section 5.5). Raises UnboundedError."""
    hull = domain.simple_hull().remove_unknown_divs().remove_divs_involving_dims(SET, position, 1)
    best: Copies | None = None
    for c in hull.get_constraints():
        if not c.involves_dims(SET, position, 1) or (not c.is_equality() and _coefficient(c, position) <= 0):
            continue
        base = c.get_bound(SET, position).ceil()
        variable = isl.Aff.var_on_domain(base.get_domain_local_space(), SET, position)
        distance = domain.max_val(variable.sub(base))
        if distance.is_int() and (best is None or int(distance.to_python()) + 1 < best.count):
            best = Copies(base, max(0, int(distance.to_python()) + 1))
    if best is None:
        raise UnboundedError
    return best


def value_set(copies: Copies, number: int, position: int) -> isl.Set:
    """The set in which the dimension has its value number `number`."""
    variable = isl.Aff.var_on_domain(copies.base.get_domain_local_space(), SET, position)
    value = copies.base.add_constant_val(isl.Val.int_from_si(copies.base.get_ctx(), number))
    return variable.eq_set(value)
