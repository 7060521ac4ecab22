"""Whether all that loops touch is narrow enough that lanes of a machine's own integer instructions gain.

>>> from planish.ir.types import F32, I32, U8
>>> are_narrow([U8, I32]), are_narrow([I32]), are_narrow([U8, F32])
(True, False, False)
"""

from __future__ import annotations

from collections.abc import Sequence

from planish.ir.nest import Alloc, Array, Kernel
from planish.ir.traverse import walk
from planish.ir.types import BOOL, Type

_WIDEST, _NARROW = 32, 16
"""The widest integers that strips are made of, and the narrowest that one of them has to have: wider ones gain nothing
by other instructions than a C compiler takes."""


def element_types(kernel: Kernel) -> dict[str, Type]:
    """The elements of all arrays, those of the kernel's own as well."""
    return {x.name: x.type for x in (*kernel.arrays, *own_arrays(kernel))}


def own_arrays(kernel: Kernel) -> list[Array]:
    """The arrays that are no operands."""
    return [x.array for x in walk(kernel.body) if isinstance(x, Alloc)]


def are_narrow(types: Sequence[Type | None]) -> bool:
    """Whether elements of these types, one of them at least narrow, are integers or truths; None: of no known type."""
    widths = [x.bits if x is not None and (x.is_int or x == BOOL) else _WIDEST + 1 for x in types]
    return max(widths) <= _WIDEST and min(widths) <= _NARROW
