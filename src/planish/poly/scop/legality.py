"""Schedule legality, and which loops carry dependences: decided exactly, on all instances at once.

A schedule is a map from instances to time vectors. It is legal when every dependence goes forward in time
(lexicographically), and when no two instances that depend on each other share a time.

>>> import islpy as isl
>>> deps = isl.UnionMap("{ S[i] -> S[i + 1] }")
>>> find_violation(isl.UnionMap("{ S[i] -> [-i] }"), deps) is None
False
>>> find_violation(isl.UnionMap("{ S[i] -> [i] }"), deps) is None
True
"""

from __future__ import annotations

import islpy as isl

from planish.poly.isl.to_list import list_maps


def schedule_map(schedule: isl.Schedule) -> isl.UnionMap:
    """Instances to time vectors, on the schedule's own domain."""
    return schedule.get_map().intersect_domain(schedule.get_domain())


def find_violation(times: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap | None:
    """The dependences that a schedule would reverse or leave unordered; None where it is legal."""
    bad = isl.UnionMap.empty(order.get_space())
    of_statement = {relation.get_tuple_name(isl.dim_type.in_): relation for relation in list_maps(times)}
    for relation in list_maps(order):
        first = of_statement.get(relation.get_tuple_name(isl.dim_type.in_))
        second = of_statement.get(relation.get_tuple_name(isl.dim_type.out))
        if first is not None and second is not None:
            reversed_ = relation.intersect(first.lex_ge_map(second))
            if not reversed_.is_empty():
                bad = bad.add_map(reversed_)
    return None if bad.is_empty() else bad


def carried_at(times: isl.UnionMap, order: isl.UnionMap, prefix: isl.UnionMap) -> isl.UnionMap:
    """Dependences between instances with the same `prefix` time but different times under `times` (one dimension)."""
    together = order.intersect(prefix.apply_range(prefix.reverse()))
    equal = times.apply_range(times.reverse())
    return together.subtract(equal)
