"""The values of one schedule dimension: bounds, a single value, what the loop ensures (sections 5.2 and 5.3).

>>> import islpy as isl
>>> find_range(isl.Set("[n] -> { [i] : 0 <= i < n }"), 0, isl.Set("[n] -> { [i] }"), ()).stride
1
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from planish.astgen.dimensions.divisions import convex_without_divisions
from planish.astgen.dimensions.project import determines
from planish.astgen.dimensions.ranges import DimensionRange, coefficient, one_side
from planish.astgen.dimensions.strided import Counting, align, find_strided
from planish.astgen.dimensions.strides import Lattice, extend_aff, find_stride
from planish.ir.expr import Binary, Expr, index
from planish.ir.traverse import walk_expr
from planish.poly.isl.coalesce import coalesce, coalesce_function
from planish.poly.isl.expression import ZERO, aff_expr, bound_expr, extremum
from planish.poly.isl.to_list import list_pieces

SET = isl.dim_type.set
MOST_PIECES = 6
FAR = 64
"""A loop over a union may run through this many values without an instance where the bounds of its pieces (at most
MOST_PIECES), which would keep it from that, are costly."""


class UnboundedError(Exception):
    """A loop without a lower or an upper bound."""


def find_range(
    domain: isl.Set, position: int, context: isl.Set, dims: tuple[Expr, ...], exact: isl.Set | None = None,
    counted: bool = False,
) -> DimensionRange:  # fmt: skip
    """The range of set dimension `position` (the last) of `domain`, given that `context` holds; may be too wide for a
    union of several pieces, never too narrow. `exact`: the points of it that are used, which may lie on a stride;
    `counted`: better count steps, where that takes no more work. Raises UnboundedError."""
    lattice = domain if exact is None else exact
    pieces = domain.get_basic_sets()
    if len(pieces) > 1:
        pieces = [p for p in pieces if not context.intersect(p.to_set()).is_empty()]
    try:
        counting: Counting = "never" if len(pieces) > 1 else "preferred" if counted else "shorter"
        hull = _hull_range(domain, position, context, dims, lattice, counting)
    except UnboundedError:
        if len(pieces) <= 1:
            raise
        return _piecewise_range(lattice, pieces, position, context, dims)
    if hull.only is not None or not 1 < len(pieces) <= MOST_PIECES or not _scans_far(domain, pieces, position, 0):
        return hull
    near = _piecewise_range(lattice, pieces, position, context, dims)
    lower, upper = extremum("max", [hull.lower, near.lower]), extremum("min", [hull.upper, near.upper])
    divisions, extrema = _extra_work((lower, upper), (hull.lower, hull.upper))
    if (divisions > 0 or extrema > 4) and not _scans_far(domain, pieces, position, FAR):
        return hull
    return replace(hull, lower=lower, upper=upper)


def _piecewise_range(
    lattice: isl.Set, pieces: list[isl.BasicSet], position: int, context: isl.Set, dims: tuple[Expr, ...]
) -> DimensionRange:
    """From the least lower to the greatest upper bound of the pieces; no constraint is enforced."""
    ranges = [_hull_range(p.to_set(), position, context, dims, lattice.intersect(p.to_set()), "never") for p in pieces]
    lower = extremum("min", [r.lower if r.only is None else r.only for r in ranges])
    upper = extremum("max", [r.upper if r.only is None else r.only for r in ranges])
    stride, offset = find_stride(lattice, position)
    ensured = _common_bounds(lattice, pieces, position, context)
    anywhere = isl.Set.universe(lattice.get_space())
    certain = _common_bounds(lattice, [r.certain.simple_hull() for r in ranges], position, anywhere)
    guard = _outer_bounds(lattice, context, position)
    fractional = False
    if stride > 1:
        assert offset is not None
        line = Lattice(stride, offset, position)
        reached = line.reached()
        fractional = not reached.plain_is_universe()
        ensured, guard = ensured.intersect(line.points()), guard.intersect(reached)
        if any(r.only is not None or r.stride != stride for r in ranges):
            # A single value is on the stride only where its piece is there.
            lower = align(lower, line, (*dims, ZERO))
    return DimensionRange(lower, upper, stride, None, ensured, guard, certain, fractional=fractional)


def _outer_bounds(domain: isl.Set, context: isl.Set, position: int) -> isl.Set:
    """What the outer dimensions satisfy wherever there is a point, as far as one convex set tells."""
    slim = convex_without_divisions(convex(domain).gist(context.simple_hull().remove_unknown_divs()), position)
    return slim.drop_constraints_involving_dims(SET, position, 1).to_set()


def _common_bounds(domain: isl.Set, pieces: list[isl.BasicSet], position: int, context: isl.Set) -> isl.Set:
    """The constraints of the hull that the bounds of every piece imply, whether or not the piece is there."""
    out = isl.Set.universe(domain.get_space())
    slim = [_plain(p, position).get_constraints() for p in pieces]
    hull = _plain(convex(domain), position).get_constraints()
    for sign in (1, -1):
        sides = [one_side(p, position, sign) for p in slim]
        for c in one_side(hull, position, sign):
            out = out.intersect(_implied(c, sides, context))
    return out


def _implied(constraint: isl.Constraint, sides: list[list[isl.Constraint]], context: isl.Set) -> isl.Set:
    """The half-space of a bound if it follows from the bounds on that side of every piece alone: a piece that is empty
    still has them."""
    half = isl.BasicSet.from_constraint(constraint).to_set()
    for side in sides:
        known = context
        for c in side:
            known = known.intersect(isl.BasicSet.from_constraint(c).to_set())
        if not known.is_subset(half):
            return isl.Set.universe(half.get_space())
    return half


def _scans_far(domain: isl.Set, pieces: list[isl.BasicSet], position: int, far: int) -> bool:
    """Whether the hull's bounds may lie further than `far` outside the values of the pieces that are there."""
    hull = _plain(convex(domain), position)
    slim = [_plain(p, position) for p in pieces]
    for sign in (1, -1):
        outer = [_bound(c, position) for c in one_side(hull.get_constraints(), position, sign)]
        inner = [(p, [_bound(c, position) for c in one_side(p.get_constraints(), position, sign)]) for p in slim]
        if not any(_is_close(inner, bound, sign, far) for bound in outer):
            return True
    return False


def _is_close(pieces: list[tuple[isl.BasicSet, list[isl.Aff]]], bound: isl.Aff, sign: int, far: int) -> bool:
    """Whether one of the pieces begins near a bound wherever any is; they are given with their own bounds."""
    near = [all(_is_near(p.to_set(), own, bound, sign, far) for own in bounds) for p, bounds in pieces]
    if all(near) or not any(near):
        return all(near)
    covered = isl.Set.empty(pieces[0][0].get_space())
    for (piece, _), good in zip(pieces, near, strict=True):
        if good:
            covered = covered.union(piece.to_set().eliminate(SET, piece.dim(SET) - 1, 1))
    for (piece, bounds), good in zip(pieces, near, strict=True):
        alone = piece.to_set().subtract(covered)
        if not good and not all(_is_near(alone, own, bound, sign, far) for own in bounds):
            return False
    return True


def _plain(basic: isl.BasicSet, position: int) -> isl.BasicSet:
    return convex_without_divisions(basic, position)


def _bound(constraint: isl.Constraint, position: int) -> isl.Aff:
    return constraint.get_bound(SET, position)


def _is_near(domain: isl.Set, own: isl.Aff, bound: isl.Aff, sign: int, far: int) -> bool:
    """Whether a bound is at most `far` inside another one, wherever `domain` is."""
    if domain.is_empty():
        return True
    inside = own.sub(bound) if sign > 0 else bound.sub(own)
    scale = inside.get_denominator_val()
    distance = domain.max_val(inside.scale_val(scale))
    return bool(distance.is_neg() or (distance.is_rat() and distance.le(scale.mul(isl.Val(far)))))


def _hull_range(
    domain: isl.Set, position: int, context: isl.Set, dims: tuple[Expr, ...], lattice: isl.Set, counting: Counting
) -> DimensionRange:
    known = context.simple_hull().remove_unknown_divs()
    hull = convex(domain).remove_unknown_divs()
    slim = convex_without_divisions(hull.gist(known), position)
    guard = slim.drop_constraints_involving_dims(SET, position, 1).to_set()
    if slim.is_empty():
        return DimensionRange(ZERO, index(-1), 1, None, slim.to_set(), guard, slim.to_set())
    facing = slim.drop_constraints_not_involving_dims(SET, position, 1)
    constraints = [c for c in slim.get_constraints() if c.involves_dims(SET, position, 1)]
    all_dims = (*dims, ZERO)
    for c in constraints:
        if c.is_equality() and abs(coefficient(c, position)) == 1:
            value = c.get_bound(SET, position)
            return _single(value, lattice, slim.to_set(), guard, position, all_dims)
    fixed = _fixed_value(lattice, context, position)
    if fixed is not None:
        return _single(fixed, lattice, slim.to_set(), guard, position, all_dims)
    lowers = one_side(constraints, position, 1)
    uppers = one_side(constraints, position, -1)
    if not lowers or not uppers:
        raise UnboundedError
    step, offset = find_stride(lattice, position)
    alone = _has_one_value(facing, known, position, step)
    if alone or (step > 1 and determines(lattice, position)):
        found = _find_value(lattice.intersect(facing.to_set()), position, context)
        if found is None and alone and offset is not None:
            found = _first_on(lowers, offset, step, facing.intersect(known).to_set(), position)
        if found is not None:
            return _single(found, lattice, slim.to_set(), guard, position, all_dims)
    lower = extremum("max", [bound_expr(c, position, all_dims) for c in lowers])
    upper = extremum("min", [bound_expr(c, position, all_dims) for c in uppers])
    dense = DimensionRange(lower, upper, 1, None, facing.to_set(), guard, facing.to_set())
    if offset is None:
        return dense
    line = Lattice(step, offset, position)
    return find_strided(dense, line, facing, (lowers, uppers), lattice, context, all_dims, counting)


def _extra_work(bounds: tuple[Expr, Expr], others: tuple[Expr, Expr]) -> tuple[int, int]:
    """How many more divisions, and minima and maxima, are in some bounds than in others."""

    def count(ops: tuple[str, ...], both: tuple[Expr, Expr]) -> int:
        return sum(isinstance(x, Binary) and x.op in ops for bound in both for x in walk_expr(bound))

    kinds = (("floordiv", "mod"), ("min", "max"))
    divisions, extrema = (count(ops, bounds) - count(ops, others) for ops in kinds)
    return divisions, extrema


def _single(
    value: isl.Aff, domain: isl.Set, slim: isl.Set, guard: isl.Set, position: int, dims: tuple[Expr, ...]
) -> DimensionRange:
    """The range of a dimension that has one value; the value is given over all dimensions or the outer ones."""
    value = extend_aff(value, position)
    variable = isl.Aff.var_on_domain(value.get_domain_local_space(), SET, position)
    graph = variable.eq_set(value)
    there = slim.intersect(graph)
    stride, offset = find_stride(domain, position)
    if stride > 1:
        assert offset is not None
        there = there.intersect(Lattice(stride, offset, position).points())
    outer = there.project_out(SET, position, 1).compute_divs().insert_dims(SET, position, 1)
    fractional = not value.get_denominator_val().is_one()
    certain = isl.Set.universe(graph.get_space()) if fractional else graph
    only = aff_expr(value, dims)
    return DimensionRange(ZERO, ZERO, 1, only, graph, guard.intersect(outer), certain, fractional=fractional)


def _fixed_value(exact: isl.Set, context: isl.Set, position: int) -> isl.Aff | None:
    """The value that an equality gives to the dimension, as a function of the outer ones; None where none does."""
    hull = exact.intersect(context).affine_hull().remove_unknown_divs()
    for c in hull.get_constraints():
        if not (c.is_equality() and c.involves_dims(SET, position, 1)):
            continue
        if abs(coefficient(c, position)) == 1:
            value = c.get_bound(SET, position)
            if not value.involves_dims(isl.dim_type.in_, position, 1):
                return value
    return None


def _has_one_value(bounds: isl.BasicSet, known: isl.BasicSet, position: int, stride: int) -> bool:
    """Whether no two values on the stride fit between the bounds."""
    inside = bounds.intersect(known)
    space = inside.get_space()
    moved = isl.MultiAff.identity(space.map_from_set())
    moved = moved.set_at(position, moved.get_at(position).add_constant_val(isl.Val(stride)))
    return inside.intersect(inside.preimage_multi_aff(moved)).is_empty()


def _find_value(domain: isl.Set, position: int, context: isl.Set) -> isl.Aff | None:
    """The one value of the dimension as a function of the outer ones; None where it takes several pieces."""
    graph = isl.Map.from_range(domain).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, position)
    function = coalesce_function(isl.PwMultiAff.from_map(graph.lexmin()))
    if function.n_piece() != 1:
        return None
    return list_pieces(function)[0][1].get_at(0).gist(context.project_out(SET, position, 1))


def _first_on(
    lowers: list[isl.Constraint], offset: isl.Aff, stride: int, points: isl.Set, position: int
) -> isl.Aff | None:
    """The first value on the stride from a lower bound on that is less than the stride away from all points."""
    variable = isl.Aff.var_on_domain(isl.LocalSpace.from_space(points.get_space()), SET, position)
    for c in lowers:
        if abs(coefficient(c, position)) != 1:
            continue
        bound = c.get_bound(SET, position)
        reach = points.max_val(variable.sub(bound))
        if reach.is_int() and reach.lt(isl.Val(stride)):
            return bound.add(extend_aff(offset, position).sub(bound).mod_val(isl.Val(stride)))
    return None


def convex(domain: isl.Set) -> isl.BasicSet:
    """The convex hull by constraints of a set; existentials get explicit forms first, so that none is lost."""
    if domain.n_basic_set() == 1:
        return domain.get_basic_sets()[0]
    explicit = coalesce(domain.compute_divs())
    pieces = explicit.get_basic_sets()
    return pieces[0] if len(pieces) == 1 else explicit.simple_hull()
