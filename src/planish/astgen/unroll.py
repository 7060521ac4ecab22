"""A copy of the code for each value of a dimension, counted from the lower bound that leaves the fewest (section 5.5).

>>> import islpy as isl
>>> [str(s) for s in slices(isl.Set("[n] -> { [i] : n <= i < n + 2 }"), 0)]
['[n] -> { [i] : i = n }', '[n] -> { [i] : i = 1 + n }']
"""

from __future__ import annotations

import islpy as isl

SET = isl.dim_type.set
MOST_COPIES = 4096


def slices(domain: isl.Set, position: int) -> list[isl.Set] | None:
    """The parts of `domain` in which the dimension has its first, second, … value; None where their number has no
    constant bound."""
    hull = domain.simple_hull().remove_unknown_divs().remove_divs_involving_dims(SET, position, 1)
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
            if best is None or count < best[0]:
                best = count, base
    if best is None or best[0] > MOST_COPIES:
        return None
    count, base = best
    out = []
    variable = isl.Aff.var_on_domain(base.get_domain_local_space(), SET, position)
    for number in range(count):
        value = base.add_constant_val(isl.Val(number))
        piece = domain.intersect(variable.eq_set(value))
        if not piece.is_empty():
            out.append(piece)
    return out
