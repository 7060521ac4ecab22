"""Strides: the lattice on which the values of a dimension lie, and statements whose lattices differ by a shift
(sections 5.3.1 and 5.8).

>>> import islpy as isl
>>> even, odd = isl.Set("{ [i] : i mod 4 = 0 }"), isl.Set("{ [i] : i mod 4 = 2 }")
>>> find_stride(even, 0)[0], find_shifts([even, odd], 0)
(4, (4, [0, 2]))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import islpy as isl

from planish.poly.isl.coalesce import coalesce

SET = isl.dim_type.set


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """The values of set dimension `position` that are `offset`, a function of the outer ones, plus a multiple of
    `stride`."""

    stride: int
    offset: isl.Aff
    position: int

    def origin(self) -> isl.Aff:
        """The offset as a function of the dimension itself, too."""
        return extend_aff(self.offset, self.position)

    def points(self) -> isl.Set:
        """The points on the lattice."""
        origin = self.origin()
        variable = isl.Aff.var_on_domain(origin.get_domain_local_space(), SET, self.position)
        return variable.sub(origin).mod_val(isl.Val(self.stride)).zero_basic_set().to_set()

    def reached(self) -> isl.Set:
        """The points whose outer dimensions have a value on it: an offset that is a fraction asks for more of them."""
        return self.points().project_out(SET, self.position, 1).compute_divs().insert_dims(SET, self.position, 1)

    def steps(self) -> isl.MultiAff:
        """The map from numbers of steps to values: the offset plus so many times the stride."""
        origin = self.origin()
        identity = isl.MultiAff.identity(origin.get_domain_space().map_from_set())
        steps = identity.get_at(self.position).scale_val(isl.Val(self.stride))
        return identity.set_at(self.position, steps.add(origin))


def find_stride(domain: isl.Set, position: int) -> tuple[int, isl.Aff | None]:
    """A stride and an offset (a function of the outer dimensions): every value is congruent to the offset modulo the
    stride. The offset is None where the stride is 1."""
    info = domain.get_stride_info(position)
    stride = info.get_stride()
    if stride.is_one():
        return 1, None
    lattice = Lattice(int(stride.to_python()), info.get_offset(), position)
    # isl 0.28 drops what depends on a parameter's remainder from some offsets.
    return (lattice.stride, lattice.offset) if domain.is_subset(lattice.points()) else (1, None)


def extend_aff(aff: isl.Aff, position: int) -> isl.Aff:
    """A function of the dimensions before `position` as one of that dimension too."""
    return aff.insert_dims(isl.dim_type.in_, position, 1) if aff.dim(isl.dim_type.in_) == position else aff


def tighten(domain: isl.Set, exact: isl.Set, position: int) -> isl.Set:
    """The loops' `domain` for the points in `exact`, which may lie on a stride: the sets of steps are taken where these
    say more, since bounds that differ between two values of the stride are the same in steps."""
    stride, offset = find_stride(exact, position)
    if offset is None or not offset.get_denominator_val().is_one():
        return domain
    steps = Lattice(stride, offset, position).steps()
    counted = domain.preimage_multi_aff(steps)
    wanted = exact.preimage_multi_aff(steps)
    if counted.is_subset(wanted):
        return domain
    tight = coalesce(wanted.compute_divs())
    if tight.n_basic_set() > domain.n_basic_set() or any(b.dim(isl.dim_type.div) for b in tight.get_basic_sets()):
        return domain
    return tight.apply(isl.Map.from_multi_aff(steps))


def find_shifts(domains: Sequence[isl.Set], position: int) -> tuple[int, list[int]] | None:
    """A stride that all the domains share, and how far the values of each lie behind those of a common lattice, less
    than the stride; None where they share none, or all lie on the lattice itself."""
    found = [find_stride(domain, position) for domain in domains]
    stride = gcd(*(s for s, _ in found))
    if stride == 1:
        return None
    first = found[0][1]
    assert first is not None
    shifts = []
    for _, offset in found:
        assert offset is not None
        apart = offset.sub(first)
        if not apart.is_cst() or not apart.get_denominator_val().is_one():
            return None
        shifts.append(int(apart.get_constant_val().to_python()) % stride)
    return (stride, shifts) if any(shifts) else None


def shift(domain: isl.Set, position: int, distance: int) -> isl.Set:
    """The set with dimension `position` increased by `distance`."""
    if distance == 0:
        return domain
    moved = isl.MultiAff.identity(domain.get_space().map_from_set())
    back = moved.get_at(position).add_constant_val(isl.Val(-distance))
    return domain.preimage_multi_aff(moved.set_at(position, back))
