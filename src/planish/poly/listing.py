"""isl's unions as Python lists, sorted by name so that the output depends on the meaning alone.

>>> import islpy as isl
>>> [str(m) for m in list_maps(isl.UnionMap("{ B[i] -> [i]; A[i] -> [0] }"))]
['{ A[i] -> [0] }', '{ B[i] -> [i] }']
"""

from __future__ import annotations

import islpy as isl


def list_maps(union: isl.UnionMap) -> list[isl.Map]:
    """The maps of a union, one for each pair of spaces."""
    out: list[isl.Map] = []
    union.foreach_map(out.append)
    return sorted(out, key=str)


def list_sets(union: isl.UnionSet) -> list[isl.Set]:
    """The sets of a union, one for each space."""
    out: list[isl.Set] = []
    union.foreach_set(out.append)
    return sorted(out, key=str)


def list_pieces(function: isl.PwMultiAff) -> list[tuple[isl.Set, isl.MultiAff]]:
    """The pieces of a piecewise function: where each holds, and its value there."""
    out: list[tuple[isl.Set, isl.MultiAff]] = []
    function.foreach_piece(lambda domain, value: out.append((domain, value)))
    return sorted(out, key=lambda piece: str(piece[0]))
