"""Arrays of which data choose elements, `x[column[k]]`: in calls that check, what chooses lies inside of them.

>>> from planish.ir.text.parser import parse_kernel
>>> body = "for i in 0 .. n { y[i] = x[2 * i64(at[i]) + 1] }"
>>> kernel = parse_kernel("kernel k(n; x: f32[?] distinct, at: i32[?], y: f32[?]) { %s }" % body)
>>> find_gathers(kernel, {"n": 20})
Gathers(elements={'x': 40}, ranges={'at': (0, 19)})
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from planish.frontend.c.translation_unit import CFunction, Region
from planish.ir.accesses import reads
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Var
from planish.ir.index.evaluate import evaluate
from planish.ir.index.interval import Interval
from planish.ir.index.polynomial import Monomial, build, names, polynomial
from planish.ir.nest import Assign, For, Kernel, Let, Reduce
from planish.ir.semantics.arithmetic import limits
from planish.ir.traverse import loads, walk
from planish.poly.scop.subscript_range import data_range

FEWEST, MOST = 16, 4096
"""The bounds of how many elements data choose among."""
FAR = 8
"""Integers that are drawn for arrays are no further apart, unless that is asked for."""

_ELEMENT = re.compile(r"(?=.*\[|\(\*)\(?\*?\s*([A-Za-z_]\w*(?:(?:->|\.)\w+)*)")


@dataclass(frozen=True, slots=True)
class Gathers:
    """How many elements arrays must have of which data choose elements, and the bounds of the integers that do."""

    elements: Mapping[str, int]
    ranges: Mapping[str, Interval]

    def renamed(self, names: Mapping[str, str]) -> Gathers:
        """The same of those arrays that have other names."""
        elements = {names[x]: y for x, y in self.elements.items() if x in names}
        return Gathers(elements, {names[x]: y for x, y in self.ranges.items() if x in names})


def find_gathers(kernel: Kernel, sizes: Mapping[str, int]) -> Gathers:
    """The gathers of a kernel whose subscripts may be anything, by the names of its arrays."""
    among = min(MOST, max(FEWEST, *sizes.values())) if sizes else FEWEST
    elements: dict[str, int] = {}
    ranges = _inside_tables(kernel)
    for load in dict.fromkeys(reads(kernel.body)):
        chosen = [(at, [x for m in polynomial(at) for x in m if _is_anything(x)]) for at in load.index]
        if not any(parts for _, parts in chosen):
            continue
        shape = kernel.array(load.array).shape if load.array in {x.name for x in kernel.arrays} else ()
        rows = prod(_value(x, sizes, 1) for x in shape[1:] if x is not None)
        for at, parts in chosen:
            highest = sum(c * _reach(m, sizes, among) for m, c in polynomial(at).items() if c > 0)
            lowest = sum(-c * _reach(m, sizes, among) for m, c in polynomial(at).items() if c < 0)
            elements[load.array] = max(elements.get(load.array, 0), (highest + 1) * rows)
            for inner in (x for part in parts for x in loads(part)):
                low, high = ranges.get(inner.array, (0, limits(inner.type)[1]))
                ranges[inner.array] = (max(low, min(lowest, high, among - 1)), min(high, among - 1))
    return Gathers(elements, ranges)


def _inside_tables(kernel: Kernel) -> dict[str, Interval]:
    """The bounds of integers that are read to choose elements of arrays, in each dimension whose extent is a number."""
    extents = {x.name: x.shape for x in kernel.arrays}
    sets = _values_of(kernel)
    ranges: dict[str, Interval] = {}
    for load in reads(kernel.body):
        for extent, at in zip(extents.get(load.array, ()), load.index, strict=False):
            terms = polynomial(at)
            data = [m[0] for m in terms if len(m) == 1 and isinstance(m[0], Cast)]
            found = _read_directly(data[0], sets) if len(data) == 1 and terms[(data[0],)] == 1 else None
            if found is None or not isinstance(extent, Const) or any(m not in ((), (data[0],)) for m in terms):
                continue
            source, added = found
            first = terms.get((), 0) + added
            low, high = ranges.get(source.array, limits(source.type))
            ranges[source.array] = max(low, -first), min(high, int(extent.value) - 1 - first)
    return {x: (low, high) for x, (low, high) in ranges.items() if low <= high}


def _values_of(kernel: Kernel) -> dict[str, list[Expr | None]]:
    """What numbers that have names, and cells, are set to; None: to what they held and something else."""
    sets: dict[str, list[Expr | None]] = {}
    for stmt in walk(kernel.body):
        match stmt:
            case Let(var=name, value=value) | Assign(array=name, index=(), value=value):
                sets.setdefault(name, []).append(value)
            case Reduce(array=name, index=()):
                sets.setdefault(name, []).append(None)
            case _:
                pass
    return sets


def _read_directly(data: Expr | None, sets: Mapping[str, list[Expr | None]]) -> tuple[Load, int] | None:
    """Where a number is read from an array, also by way of a cell, and what is added to it; None where it is computed
    in another way."""
    match data:
        case Cast(operand=inner) | Binary(op="min" | "max", left=inner, right=Const()):
            return _read_directly(inner, sets)
        case Binary(op="add" | "sub" as op, left=inner, right=Const(value=value)):
            found = _read_directly(inner, sets)
            return None if found is None else (found[0], found[1] + int(value if op == "add" else -value))
        case Load(array=name, index=()) | Var(name=name):
            values = sets.get(name, [])
            others = {x: y for x, y in sets.items() if x != name}
            return _read_directly(values[0], others) if len(values) == 1 else None
        case Load():
            return data, 0
        case _:
            return None


def held_ranges(function: CFunction, usual: tuple[int, int]) -> dict[str, tuple[int, int]]:
    """The `usual` bounds of the integers in arrays whose elements are sizes of regions, such as `w[i]` and `*n`."""
    texts = [dict(x.names)[size] for x in function.regions for size in x.kernel.sizes]
    return {found[1]: usual for x in texts if (found := _ELEMENT.match(x)) is not None}


def asks_for_many(region: Region) -> bool:
    """Whether a region is only worth a call where integers in arrays are far apart, as in long rows of a matrix."""
    held = {size for size, text in region.names if _ELEMENT.match(text) is not None}
    asked = [x for x in region.kernel.assumptions if isinstance(x, Compare) and names(x.left) & held]
    return any(polynomial(x.left).get((), 0) <= -FAR for x in asked if x.op == "ge")


def counting_elements(function: CFunction) -> frozenset[str]:
    """The arrays whose elements say how often loops of regions run, as in `for (k = 0; k < count[x]; k++)`."""
    out: set[str] = set()
    for region in function.regions:
        asked = {n for x in walk(region.kernel.body) if isinstance(x, For) for n in names(x.upper) | names(x.lower)}
        found = (_ELEMENT.match(text) for size, text in region.names if size in asked)
        out |= {x[1] for x in found if x is not None}
    return frozenset(out)


def _is_anything(atom: Expr) -> bool:
    return isinstance(atom, Cast) and bool(loads(atom)) and data_range(atom) is None


def _reach(monomial: Monomial, sizes: Mapping[str, int], among: int) -> int:
    """The greatest value of a product of numbers that data choose, of sizes and of iterators."""
    return prod(among - 1 if _is_anything(x) else _value(x, sizes, among) for x in monomial)


def _value(atom: Expr, sizes: Mapping[str, int], otherwise: int) -> int:
    if isinstance(atom, Var) and atom.name not in sizes:
        return otherwise
    try:
        return max(0, evaluate(build({(atom,): 1}) if not isinstance(atom, Const) else atom, sizes))
    except (KeyError, ValueError, ZeroDivisionError, TypeError):
        return otherwise
