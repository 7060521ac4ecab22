"""How many instances a statement has for given sizes, and how many of these in each part of its domain, by sampling.

>>> import islpy as isl
>>> sample = sample_domain(isl.Set("[n] -> { S[i, j] : 0 <= j < i < n }"), {"n": 1000})
>>> abs(sample.count / (1000 * 999 / 2) - 1) < 0.05
True
>>> 0.4 < sample.share(isl.Set("[n] -> { S[i, j] : 2 * j < i }")) < 0.6
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from planish.poly.scop.extents import fix_sizes

SET = isl.dim_type.set

POINTS = 24
"""The points of a sample: shares are right to some percents."""
_GOLDEN = (5**0.5 - 1) / 2


class NoEstimateError(Exception):
    """There is no end to a set, as far as is known."""


@dataclass(frozen=True, slots=True, eq=False)
class DomainSample:
    """Points of a domain, each with the instances that it stands for; about how many instances there are."""

    points: Mapping[tuple[int, ...], float]
    chosen: isl.Set
    sizes: Mapping[str, int]

    @property
    def count(self) -> float:
        """About how many instances the domain has."""
        return sum(self.points.values())

    def share(self, part: isl.Set) -> float:
        """About how much of the domain lies in a part of it."""
        if not self.points:
            return 0.0
        inside = fix_sizes(part, self.sizes).project_out_all_params().reset_tuple_id().intersect(self.chosen)
        found: list[isl.Point] = []
        inside.foreach_point(found.append)
        dims = self.chosen.dim(SET)
        names = (tuple(int(x.get_coordinate_val(SET, d).to_python()) for d in range(dims)) for x in found)
        return sum(self.points[x] for x in names) / self.count


def bounds_of(points: isl.Set, dimension: int) -> tuple[int, int]:
    """The least and the greatest value of a dimension; NoEstimateError where there is none."""
    low, high = points.dim_min_val(dimension), points.dim_max_val(dimension)
    if not (low.is_int() and high.is_int()):
        raise NoEstimateError
    return int(low.to_python()), int(high.to_python())


def sample_domain(domain: isl.Set, sizes: Mapping[str, int]) -> DomainSample:
    """A sample of a domain, for given sizes of all that it depends on: each iterator is at another part of its range in
    every point. NoEstimateError where it has no end."""
    whole = fix_sizes(domain, sizes).project_out_all_params().reset_tuple_id()
    chosen = isl.Set.empty(whole.get_space())
    dims = whole.dim(SET)
    points: dict[tuple[int, ...], float] = {}
    for n in range(POINTS if dims else 1):
        here, weight, place = whole, 1.0, list[int]()
        for d in range(dims):
            if here.is_empty():
                break
            low, high = bounds_of(here, d)
            part = (0.5 + (n + 1) * _GOLDEN ** (d + 1)) % 1.0 if d else (n + 0.5) / POINTS
            weight *= high - low + 1
            place.append(low + int(part * (high - low + 1)))
            here = here.fix_val(SET, d, isl.Val(place[-1]))
        if not here.is_empty():
            points[tuple(place)] = points.get(tuple(place), 0.0) + weight / (POINTS if dims else 1)
            chosen = chosen.union(here)
    return DomainSample(points, chosen, sizes)
