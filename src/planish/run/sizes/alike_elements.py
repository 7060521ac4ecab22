"""Calls in which many elements are equal, of functions that ask whether some are: random ones seldom do.

>>> from planish.ir.text.parser import parse_kernel
>>> body = "for i in 1 .. n { if a[i] != a[i - 1] { y[0] = y[0] + 100 / d[i] } }"
>>> sorted(compared(parse_kernel("kernel k(n; a: i16[n], d: i32[n], y: i32[1]) { %s }" % body)))
['a']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planish.frontend.c.translation_unit import CFunction, Region
from planish.ir.accesses import values
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Var
from planish.ir.nest import Kernel
from planish.ir.traverse import children, loads
from planish.run.calls.passing import leaves_of
from planish.run.calls.signature import CallCase, Placement
from planish.run.sizes.call_sizes import CHECK_INSTANCES, instances_of, make_case, size_names, sizes_near, wanted_sizes
from planish.run.sizes.exit_values import arguments_of
from planish.run.sizes.known_sizes import KnownSizes

SIZES, FIRST_SEED = (20, 131, 600), 500
"""The sizes of such calls, and the first seed of these."""
FEW = (0, 2)
"""The bounds of integers that are often equal."""
_DIVISIONS = ("quo", "rem", "floordiv", "mod")
"""Those of integers, which fail for a divisor of 0."""


def alike_cases(function: CFunction, known: tuple[KnownSizes, ...]) -> tuple[CallCase, ...]:
    """Calls of a function that compares elements for equality, in which these have one of three values."""
    names = {y for x in function.regions for y in _arguments(x, function)}
    found = [p for p in leaves_of(function) if p.name in names]
    out: list[CallCase] = []
    for n, value in enumerate(SIZES if found else ()):
        sizes = sizes_near(known, wanted_sizes(size_names(known), value), {})
        if sizes is None or instances_of(known, sizes) > CHECK_INSTANCES:
            continue
        case = make_case(function, known, sizes, seed=FIRST_SEED + n)
        alike = {p.name: FEW for p in found if p.type is not None and p.type.is_int}
        whole = any(p.type is not None and p.type.is_float for p in found)
        placement: Placement = "start" if n % 2 else "end"
        case = replace(case, ranges={**alike, **case.ranges}, placement=placement)
        out.append(replace(case, distribution="whole") if whole else case)
    return tuple(out)


def _arguments(region: Region, function: CFunction) -> Iterator[str]:
    """The numbers that a call is made of which a region compares for equality."""
    names, places = dict(region.names), arguments_of(region, function)
    for x in compared(region.kernel):
        yield from places.get(x, (names.get(x, x),))


def compared(kernel: Kernel) -> frozenset[str]:
    """The arrays and scalars that are compared for equality with something else than a constant; none by which anything
    is divided."""
    nodes = [*values(kernel.body)]
    tests = (x for x in nodes if isinstance(x, Compare) and x.op in ("eq", "ne") and loads(x))
    free = (x for x in tests if not isinstance(x.left, Const) and not isinstance(x.right, Const))
    divisors = {y for x in nodes if isinstance(x, Binary) and x.op in _DIVISIONS for y in _named(x.right, kernel)}
    return frozenset(y for x in free for y in _named(x, kernel)) - divisors


def _named(expr: Expr, kernel: Kernel) -> set[str]:
    """The arrays and scalars in an expression, but for those in subscripts and the kernel's own cells."""
    known = {x.name for x in kernel.arrays} | {x.name for x in kernel.scalars}
    match expr:
        case Load(array=array):
            return {array} & known
        case Var(name=name):
            return {name} & known
        case _:
            return {y for x in children(expr) for y in _named(x, kernel)}
