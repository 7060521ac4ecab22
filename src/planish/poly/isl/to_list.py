"""isl unions as Python lists, sorted by name, so that the output depends on the meaning alone.

>>> import islpy as isl
>>> [str(m) for m in list_maps(isl.UnionMap("{ B[i] -> [i]; A[i] -> [0] }"))]
['{ A[i] -> [0] }', '{ B[i] -> [i] }']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TypeVar

import islpy as isl

T = TypeVar("T")
Key = tuple[str, int, str, int]
"""What tells two members of a union apart, in most cases: name and number of dimensions."""


def list_maps(union: isl.UnionMap) -> list[isl.Map]:
    """The maps of a union, one for each pair of spaces."""
    out: list[isl.Map] = []
    union.foreach_map(out.append)
    return _sorted(out, _name_of_range)


def unite_maps(maps: Iterable[isl.Map]) -> isl.UnionMap:
    """The union of some maps (at least one)."""
    return reduce(isl.UnionMap.union, map(isl.UnionMap.from_map, maps))


def list_sets(union: isl.UnionSet) -> list[isl.Set]:
    """The sets of a union, one for each space."""
    out: list[isl.Set] = []
    union.foreach_set(out.append)
    return _sorted(out, _name)


def list_pieces(function: isl.PwMultiAff) -> list[tuple[isl.Set, isl.MultiAff]]:
    """The pieces of a piecewise function: where each holds, and its value there."""
    out: list[tuple[isl.Set, isl.MultiAff]] = []
    function.foreach_piece(lambda domain, value: out.append((domain, value)))
    return out if len(out) == 1 else sorted(out, key=lambda piece: str(piece[0]))


def _sorted(found: list[T], key: Callable[[T], Key]) -> list[T]:
    """By name; by the whole text, which takes longer to make, only where names do not decide."""
    if len(found) <= 1:
        return found
    named = [(key(x), x) for x in found]
    if len({k for k, _ in named}) < len(found):
        return sorted(found, key=str)
    return [x for _, x in sorted(named, key=lambda pair: pair[0])]


def _name(one: isl.Set) -> Key:
    kind = isl.dim_type.set
    return one.get_tuple_name() or "", one.dim(kind), "", 0


def _name_of_range(one: isl.Map) -> Key:
    inner, outer = isl.dim_type.in_, isl.dim_type.out
    return one.get_tuple_name(outer) or "", one.dim(outer), one.get_tuple_name(inner) or "", one.dim(inner)
