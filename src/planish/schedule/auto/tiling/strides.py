"""Access strides: how far each access moves when one loop advances, for vectorisation and the cache model.

>>> import islpy as isl
>>> access = isl.Map("[n] -> { S[i, j] -> A[j, i] : 0 <= i, j < n }")
>>> step_of(access, isl.Map("[n] -> { S[i, j] -> [i, j] }"), 1)
(1, 0)
"""

from __future__ import annotations

from typing import Literal

import islpy as isl

from planish.poly.isl.to_list import list_pieces

StrideKind = Literal["none", "unit", "reverse", "near", "far"]

NEAR = 4
"""What goes on by so many elements at most shares its vectors with what lies between: parts of complex numbers do."""


def steps_of(access: isl.Map, times: isl.Map) -> tuple[tuple[int, ...], ...] | None:
    """For each time dimension, the change of every subscript per unit step; None where it is not constant.

    Result[m][d] is the coefficient of dimension m in subscript d.
    """
    by_time = times.reverse().apply_range(access)
    if by_time.is_empty() or not by_time.is_single_valued():
        return None
    pieces = list_pieces(isl.PwMultiAff.from_map(by_time))
    function = max(pieces, key=lambda piece: len(str(piece[0])))[1]
    dims, subscripts = by_time.dim(isl.dim_type.in_), by_time.dim(isl.dim_type.out)
    out = []
    for m in range(dims):
        row = []
        for d in range(subscripts):
            coefficient = function.get_at(d).get_coefficient_val(isl.dim_type.in_, m)
            row.append(int(coefficient.to_python()) if coefficient.is_int() else 1)
        out.append(tuple(row))
    return tuple(out)


def step_of(access: isl.Map, times: isl.Map, dimension: int) -> tuple[int, ...] | None:
    """The change of every subscript when one time dimension advances by one."""
    steps = steps_of(access, times)
    return None if steps is None else steps[dimension]


def stride_kind(step: tuple[int, ...]) -> StrideKind:
    """`none`: the element stays; `unit`: the next in memory; `reverse`: the one before; `near`: a few elements on;
    `far`: anything else."""
    if not any(step):
        return "none"
    if any(step[:-1]) or abs(step[-1]) > NEAR:
        return "far"
    if abs(step[-1]) > 1:
        return "near"
    return "unit" if step[-1] == 1 else "reverse"
