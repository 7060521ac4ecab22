"""Calls in which some sizes of a function are large, and all others small.

    cases = uneven_cases(function, known, {"n"})
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from planish.frontend.c.translation_unit import CFunction
from planish.run.calls.signature import CallCase
from planish.run.sizes.call_sizes import CHECK_INSTANCES, instances_of, make_case, size_names, sizes_near
from planish.run.sizes.known_sizes import KnownSizes

UNEVEN_SIZES, UNEVEN_SEED = (128, 131, 259, 512), 200
"""What some sizes are where all others are small, and the first seed of such calls."""


def uneven_cases(
    function: CFunction, known: tuple[KnownSizes, ...], large: Collection[str], values: Sequence[int] = UNEVEN_SIZES
) -> tuple[CallCase, ...]:
    """Calls in which some sizes are large, each of the `values` in one, and all others small: what asks for many
    iterations of one loop runs, where as many of all would be too many."""
    out: list[CallCase] = []
    for i, value in enumerate(values):
        wanted = {x: value if x in large else 2 + (i + n) % 3 for n, x in enumerate(size_names(known))}
        sizes = sizes_near(known, wanted, {})
        if sizes is not None and instances_of(known, sizes) <= CHECK_INSTANCES:
            case = make_case(function, known, sizes, seed=UNEVEN_SEED + i)
            out.append(replace(case, placement="end" if i % 2 == 0 else "start"))
    return tuple(out)
