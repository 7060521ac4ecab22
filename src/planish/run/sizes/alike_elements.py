"""Calls in which many elements are equal, of functions that compare some: random ones seldom are.

>>> from planish.ir.text.parser import parse_kernel
>>> body = "for i in 1 .. n { if a[i] != a[i - 1] { y[0] = y[0] + 100 / d[i] } }"
>>> sorted(compared(parse_kernel("kernel k(n; a: i16[n], d: i32[n], y: i32[1]) { %s }" % body)))
['a']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from planish.frontend.c.translation_unit import CFunction, Region
from planish.ir.accesses import values
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Var
from planish.ir.nest import Alloc, Assign, Kernel, Let, Reduce, While
from planish.ir.traverse import children, loads, walk
from planish.run.calls.passing import leaves_of
from planish.run.calls.signature import CallCase, Placement
from planish.run.sizes.call_sizes import CHECK_INSTANCES, instances_of, make_case, size_names, sizes_near, wanted_sizes
from planish.run.sizes.exit_values import arguments_of
from planish.run.sizes.known_sizes import KnownSizes

SIZES, FIRST_SEED = (20, 131, 600), 500
"""The sizes of such calls, and the first seed of these."""
FEW = (0, 2)
"""The bounds of integers that are often equal."""
_ORDERS, _LARGEST = ("lt", "le", "gt", "ge"), 1e6
_DIVISIONS = ("quo", "rem", "floordiv", "mod")
"""Those of integers, which fail for a divisor of 0."""


def alike_cases(function: CFunction, known: tuple[KnownSizes, ...]) -> tuple[CallCase, ...]:
    """Calls of a function that compares elements with others, in which these have one of three values; or with float
    constants, in which many are such a constant."""
    equal = {y for x in function.regions for y in _arguments(x, function, compared(x.kernel))}
    names = equal | {y for x in function.regions for y in _arguments(x, function, ordered(x.kernel))}
    found = [p for p in leaves_of(function) if p.name in names]
    pool = tuple(sorted({y for x in function.regions for y in float_constants(x.kernel)}))
    out: list[CallCase] = []
    for n, value in enumerate(SIZES if found or pool else ()):
        if n == 0 and not equal:
            continue  # smaller ones tell nothing more of an order
        sizes = sizes_near(known, wanted_sizes(size_names(known), value), {})
        if sizes is None or instances_of(known, sizes) > CHECK_INSTANCES:
            continue
        case = make_case(function, known, sizes, seed=FIRST_SEED + n)
        alike = {p.name: FEW for p in found if p.type is not None and p.type.is_int}
        whole = any(p.type is not None and p.type.is_float for p in found)
        placement: Placement = "start" if n % 2 else "end"
        case = replace(case, ranges={**alike, **case.ranges}, placement=placement, pool=pool)
        out.append(replace(case, distribution="whole") if whole or pool else case)
    return tuple(out)


def _arguments(region: Region, function: CFunction, found: frozenset[str]) -> Iterator[str]:
    """The numbers that a call is made of which are those `found` in a region."""
    names, places = dict(region.names), arguments_of(region, function)
    for x in found:
        yield from places.get(x, (names.get(x, x),))


def compared(kernel: Kernel) -> frozenset[str]:
    """The arrays and scalars that are compared for equality with something else than a constant; none by which anything
    is divided."""
    tests = (x for x in values(kernel.body) if isinstance(x, Compare) and x.op in ("eq", "ne") and loads(x))
    free = (x for x in tests if not isinstance(x.left, Const) and not isinstance(x.right, Const))
    return frozenset(y for x in free for y in _named(x, kernel)) - _divisors(kernel, _DIVISIONS)


def ordered(kernel: Kernel) -> frozenset[str]:
    """The arrays and scalars that are themselves compared for which is less; none by which anything is divided."""
    free = (x for x in _orders(kernel) if not any(isinstance(y, Const) for y in x))
    return frozenset(z for x in free for y in x for z in _named(y, kernel)) - _divisors(kernel, _DIVISIONS)


def float_constants(kernel: Kernel) -> frozenset[float]:
    """The constants that elements, floats, are compared with; none where it is divided by elements, which may become
    nothing.

    >>> from planish.ir.text.parser import parse_kernel
    >>> text = "kernel k(n; a: f32[n], y: i32[1]) {{ for i in 0 .. n {{ if a[i] {} 2.5:f32 {{ y[0] += 1 }} }} }}"
    >>> [sorted(float_constants(parse_kernel(text.format(x)))) for x in ("<", ">=", "!=")]
    [[2.5], [2.5], [2.5]]
    """
    if _divisors(kernel, (*_DIVISIONS, "div")):
        return frozenset()
    constants = (y for x in _orders(kernel, ("eq", "ne", *_ORDERS)) for y in x if isinstance(y, Const))
    return frozenset(float(x.value) for x in constants if x.type.is_float and abs(x.value) <= _LARGEST)


def _orders(kernel: Kernel, ops: tuple[str, ...] = _ORDERS) -> Iterator[tuple[Expr, Expr]]:
    """Elements that are compared with others, scalars or constants, as what stands on both sides. Nothing of what is
    computed from floats is: where sums are rounded otherwise, equal ones differ."""
    inside = [*walk(kernel.body)]
    if any(isinstance(x, While) for x in inside):
        return  # which may not come to an end
    own = {x.array.name for x in inside if isinstance(x, Alloc) and not x.array.shape}
    stored = [x for x in inside if isinstance(x, Assign | Reduce) and x.array in own]
    once = {x.array for x in stored if sum(y.array == x.array for y in stored) == 1}
    named = {x.var: x.value for x in inside if isinstance(x, Let)}
    named |= {x.array: x.value for x in stored if isinstance(x, Assign) and x.array in once}
    for x in values(kernel.body):
        if isinstance(x, Compare) and x.op in ops:
            sides = _settled(x.left, named), _settled(x.right, named)
            if all(isinstance(y, Load | Var | Const) for y in sides) and any(isinstance(y, Load) for y in sides):
                yield sides


def _settled(expr: Expr, named: Mapping[str, Expr], depth: int = 8) -> Expr:
    """What stands behind casts and names."""
    match expr:
        case Cast(operand=operand):
            return _settled(operand, named, depth)
        case Var(name=name) | Load(array=name) if name in named and depth:
            return _settled(named[name], named, depth - 1)
        case _:
            return expr


def _divisors(kernel: Kernel, ops: tuple[str, ...]) -> set[str]:
    nodes = values(kernel.body)
    return {y for x in nodes if isinstance(x, Binary) and x.op in ops for y in _named(x.right, kernel)}


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
