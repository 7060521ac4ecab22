"""The range of a dimension whose values lie on a stride: from the first one on, or counted in steps (section 5.3.1).

>>> import islpy as isl
>>> from planish.ir.text.printer import print_expr
>>> third = Lattice(3, isl.Aff("{ [] -> [(1)] }"), 0)
>>> print_expr(align(index("n"), third, (index(0),)))
'3 * ((n + 1) // 3) + 1'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import islpy as isl

from planish.astgen.dimensions.ranges import DimensionRange, coefficient, one_side
from planish.astgen.dimensions.strides import Lattice
from planish.ir.expr import Binary, Expr, index
from planish.ir.traverse import count_work
from planish.poly.isl.expression import add, aff_expr, bound_expr, extremum, floor_div, normalise

SET = isl.dim_type.set

Counting = Literal["never", "shorter", "preferred"]
"""When a loop counts its steps: where that takes less work, or no more."""

Sides = tuple[Sequence[isl.Constraint], Sequence[isl.Constraint]]
Dims = tuple[Expr, ...]
"""The values of the dimensions up to the one in question, which stands for itself."""


def find_strided(
    dense: DimensionRange, lattice: Lattice, bounds: isl.BasicSet, sides: Sides, exact: isl.Set, context: isl.Set,
    dims: Dims, counting: Counting,
) -> DimensionRange:  # fmt: skip
    """The range `dense`, which runs through all values between some `bounds` (and their constraints from below and from
    above), for those on a lattice, on which the points in `exact` lie, given that `context` holds."""
    position, lowers = lattice.position, sides[0]
    reached = lattice.reached()
    fractional = not reached.plain_is_universe()
    out = replace(
        dense,
        stride=lattice.stride,
        ensured=dense.ensured.intersect(lattice.points()),
        guard=dense.guard.intersect(reached),
        fractional=fractional,
    )
    aligned = _starts_on(lowers, lattice, context)
    ends = None if aligned or len(lowers) == 1 else _fixed_bounds(exact, lattice, context)
    if ends is not None:
        certain = isl.Set.universe(out.guard.get_space()).lower_bound_val(SET, position, isl.Val(ends[0]))
        certain = certain.upper_bound_val(SET, position, isl.Val(ends[1]))
        return replace(out, lower=align(index(ends[0]), lattice, dims), upper=index(ends[1]), certain=certain)
    if not aligned:
        out = _aligned(out, lattice, sides, context, dims)
    if counting != "never" and not fractional and (counting == "preferred" or not aligned):
        counted = _counted(out, bounds, lattice, dims, dense.guard.intersect(reached))
        more = count_work(counted.lower, counted.upper) - count_work(out.lower, out.upper)
        if more < 0 or (more == 0 and counting == "preferred"):
            return counted
    return out


def _aligned(found: DimensionRange, lattice: Lattice, sides: Sides, context: isl.Set, dims: Dims) -> DimensionRange:
    """The range from the first value on the lattice on: the greatest of those from each bound, or from the greatest."""
    lowers, uppers = sides
    firsts = [_first_from(c, lattice, context, dims) for c in lowers]
    apart = extremum("max", [first for first, _ in firsts])
    joint = align(found.lower, lattice, dims)
    if count_work(apart) > count_work(joint):
        certain = found.certain if found.fractional else found.certain.intersect(lattice.points())
        return replace(found, lower=joint, certain=certain)
    certain = isl.Set.universe(found.guard.get_space())
    for written in (*(isl.BasicSet.from_constraint(c).to_set() for c in uppers), *(written for _, written in firsts)):
        certain = certain.intersect(written)
    return replace(found, lower=apart, certain=certain)


def _counted(
    found: DimensionRange, bounds: isl.BasicSet, lattice: Lattice, dims: Dims, guard: isl.Set
) -> DimensionRange:
    """The range in numbers of steps: what would have to be aligned to the stride is divided by it instead."""
    position, steps = lattice.position, lattice.steps()
    slim = bounds.preimage_multi_aff(steps).remove_redundancies()
    # isl wants constraints to be read before any of them is dropped.
    constraints = [
        c for c in slim.get_constraints() if c.involves_dims(SET, position, 1) and not c.is_div_constraint()
    ]
    # What follows for the outer dimensions may have made a bound superfluous.
    outer = slim.drop_constraints_involving_dims(SET, position, 1).to_set()
    inside = slim.drop_constraints_not_involving_dims(SET, position, 1)
    lower = extremum("max", [bound_expr(c, position, dims) for c in one_side(constraints, position, 1)])
    upper = extremum("min", [bound_expr(c, position, dims) for c in one_side(constraints, position, -1)])
    ensured = inside.to_set().apply(isl.Map.from_multi_aff(steps))
    origin = aff_expr(lattice.offset, dims)
    return DimensionRange(lower, upper, found.stride, None, ensured, guard.intersect(outer), ensured, origin)


def align(lower: Expr, lattice: Lattice, dims: Dims) -> Expr:
    """The first value on the lattice from `lower` on: offset + stride * ceil((lower - offset) / stride)."""
    offset = aff_expr(lattice.offset, dims)
    difference = normalise(Binary("sub", lower, offset))
    steps = floor_div(normalise(add(difference, index(lattice.stride - 1))), lattice.stride)
    return normalise(add(offset, Binary("mul", index(lattice.stride), steps)))


def _starts_on(lowers: Sequence[isl.Constraint], lattice: Lattice, context: isl.Set) -> bool:
    """Whether the (only) lower bound is on the lattice anyway."""
    if len(lowers) != 1 or abs(coefficient(lowers[0], lattice.position)) != 1:
        return False
    value = lowers[0].get_bound(SET, lattice.position)
    variable = isl.Aff.var_on_domain(value.get_domain_local_space(), SET, lattice.position)
    return bool(variable.eq_set(value).intersect(context).is_subset(lattice.points()))


def _fixed_bounds(exact: isl.Set, lattice: Lattice, context: isl.Set) -> tuple[int, int] | None:
    """Constants between which all values on the lattice are used; None where there are none such."""
    used, position = exact.intersect(context), lattice.position
    low, high = used.dim_min_val(position), used.dim_max_val(position)
    if not (low.is_int() and high.is_int()):
        return None
    between = context.intersect(lattice.points())
    between = between.lower_bound_val(SET, position, low).upper_bound_val(SET, position, high)
    return (int(low.to_python()), int(high.to_python())) if between.is_subset(used) else None


def _first_from(bound: isl.Constraint, lattice: Lattice, context: isl.Set, dims: Dims) -> tuple[Expr, isl.Set]:
    """The first value on the lattice that is not below a bound where the context holds; and the points that are not
    below it, elsewhere too."""
    first = _fixed_first(bound, lattice, context)
    if first is not None:
        variable = isl.Aff.var_on_domain(first.get_domain_local_space(), SET, lattice.position)
        return aff_expr(first, dims), variable.ge_set(first)
    lower = align(bound_expr(bound, lattice.position, dims), lattice, dims)
    return lower, isl.BasicSet.from_constraint(bound).to_set()


def _fixed_first(bound: isl.Constraint, lattice: Lattice, context: isl.Set) -> isl.Aff | None:
    """The first value on the lattice as a function without a division, where the context allows for one."""
    origin, stride = lattice.origin(), lattice.stride
    if abs(coefficient(bound, lattice.position)) != 1 or not origin.get_denominator_val().is_one():
        return None
    value = bound.get_bound(SET, lattice.position)
    below = value.sub(origin)
    missing = _distance(below, stride, context)
    if missing is not None:
        return value.add_constant_val(isl.Val(missing))
    low, high = context.min_val(below), context.max_val(below)
    if low.is_int() and high.is_int():
        least, most = (-(-int(x.to_python()) // stride) for x in (low, high))
        if least == most:
            return origin.add_constant_val(isl.Val(stride * least))
    return None


def _distance(below: isl.Aff, stride: int, context: isl.Set) -> int | None:
    """How far it is from a value to the next multiple of the stride, where that is the same everywhere."""
    point = context.sample_point()
    if point.is_void():
        return None
    there = below.eval(point)
    if not there.is_int():
        return None
    missing = -int(there.to_python()) % stride
    multiples = below.add_constant_val(isl.Val(missing)).mod_val(isl.Val(stride)).zero_basic_set().to_set()
    return missing if context.is_subset(multiples) else None
