"""Calls in which many elements are equal, of functions that ask whether some are: random ones seldom do.

>>> from planish.ir.text.parser import parse_kernel
>>> body = "for i in 1 .. n { if a[i] != a[i - 1] { y[0] = y[0] + 1 } }"
>>> compared_types(parse_kernel("kernel k(n; a: i16[n], y: i32[1]) { %s }" % body))
frozenset({Type(kind='int', bits=16)})
"""

from __future__ import annotations

from dataclasses import replace

from planish.frontend.c.translation_unit import CFunction
from planish.ir.accesses import values
from planish.ir.expr import Compare, Const
from planish.ir.nest import Kernel
from planish.ir.traverse import loads
from planish.ir.types import Type
from planish.run.calls.passing import leaves_of
from planish.run.calls.signature import CallCase, Placement
from planish.run.sizes.call_sizes import CHECK_INSTANCES, instances_of, make_case, size_names, sizes_near, wanted_sizes
from planish.run.sizes.known_sizes import KnownSizes

SIZES, FIRST_SEED = (20, 131, 600), 500
"""The sizes of such calls, and the first seed of these."""
FEW = (0, 2)
"""The bounds of integers that are often equal."""


def alike_cases(function: CFunction, known: tuple[KnownSizes, ...]) -> tuple[CallCase, ...]:
    """Calls of a function that compares elements for equality, in which what has the type of these has one of three
    values."""
    types = frozenset[Type]().union(*(compared_types(x.kernel) for x in function.regions))
    out: list[CallCase] = []
    for n, value in enumerate(SIZES if types else ()):
        sizes = sizes_near(known, wanted_sizes(size_names(known), value), {})
        if sizes is None or instances_of(known, sizes) > CHECK_INSTANCES:
            continue
        case = make_case(function, known, sizes, seed=FIRST_SEED + n)
        alike = {p.name: FEW for p in leaves_of(function) if p.type in types and p.type.is_int}
        whole = any(x.is_float for x in types)
        placement: Placement = "start" if n % 2 else "end"
        case = replace(case, ranges={**alike, **case.ranges}, placement=placement)
        out.append(replace(case, distribution="whole") if whole else case)
    return tuple(out)


def compared_types(kernel: Kernel) -> frozenset[Type]:
    """The types of elements that are compared for equality with something else than a constant."""
    nodes = values(kernel.body)
    tests = (x for x in nodes if isinstance(x, Compare) and x.op in ("eq", "ne"))
    free = (x for x in tests if not isinstance(x.left, Const) and not isinstance(x.right, Const))
    return frozenset(y.type for x in free for y in loads(x))
