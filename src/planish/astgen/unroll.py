"""A copy of the code for each value of a dimension, counted from the lower bound that leaves the fewest (section 5.5).

>>> import islpy as isl
>>> [str(s) for s in slices(isl.Set("[n] -> { [i] : n <= i < n + 2 }"), 0)]
['[n] -> { [i = n] }', '[n] -> { [i = 1 + n] }']
"""

from __future__ import annotations

import islpy as isl

from planish.astgen.dimensions.divisions import convex_without_divisions
from planish.astgen.dimensions.strides import Lattice, find_stride

SET = isl.dim_type.set
MOST_COPIES = 4096


def slices(domain: isl.Set, position: int, exact: isl.Set | None = None) -> list[isl.Set] | None:
    """The parts of `domain` in which the dimension has its first, second, … value; None where their number has no
    constant bound. `exact`: the points of it that are used, which may lie on a stride."""
    used = domain if exact is None else exact.intersect(domain)
    stride, offset = find_stride(used, position)
    if offset is None:
        offset = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(domain.get_space()))
    lattice = Lattice(stride, offset, position)
    steps = domain.preimage_multi_aff(lattice.steps()) if stride > 1 else domain
    found = _best_base(steps, position)
    if found is None or found[0] > MOST_COPIES:
        return None
    count, base = found
    variable = isl.Aff.var_on_domain(base.get_domain_local_space(), SET, position)
    out = []
    for number in range(count):
        value = base.add_constant_val(isl.Val(number)).scale_val(isl.Val(stride)).add(lattice.origin())
        piece = domain.intersect(variable.eq_set(value))
        if not piece.intersect(used).is_empty():
            out.append(piece)
    return out


def _best_base(domain: isl.Set, position: int) -> tuple[int, isl.Aff] | None:
    """The lower bound with the least constant distance to the values, and that distance and 1."""
    hull = convex_without_divisions(domain.simple_hull(), position)
    best: tuple[int, isl.Aff] | None = None
    for c in hull.get_constraints():
        if not c.involves_dims(SET, position, 1):
            continue
        if not c.is_equality() and int(c.get_coefficient_val(SET, position).to_python()) <= 0:
            continue
        base = c.get_bound(SET, position).ceil()
        variable = isl.Aff.var_on_domain(base.get_domain_local_space(), SET, position)
        distance = domain.max_val(variable.sub(base))
        if distance.is_int():
            count = int(distance.to_python()) + 1
            if best is None or (count, _size(base)) < (best[0], _size(best[1])):
                best = count, base
    low, high = domain.dim_min_val(position), domain.dim_max_val(position)
    if low.is_int() and high.is_int():
        count = int(high.to_python()) - int(low.to_python()) + 1
        if best is None or count <= best[0]:
            constant = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(domain.get_space())).add_constant_val(low)
            best = count, constant
    return best


def _size(base: isl.Aff) -> int:
    """How much there is to compute for a bound: the variables and divisions in it."""
    kinds = (isl.dim_type.in_, isl.dim_type.param, isl.dim_type.div)
    return sum(not base.get_coefficient_val(k, i).is_zero() for k in kinds for i in range(base.dim(k)))
