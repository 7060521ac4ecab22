"""How much of each array a block uses, as its sizes grow: from the subscripts of all accesses.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "for i in 0 .. 64 { for j in 0 .. 64 { B[i, j] = A[i, j] + A[i, j + 2] } }"
>>> found = footprints_of(parse_kernel(f"kernel f(A: f32[66, 66], B: f32[64, 64]) {{ {text} }}"), {})
>>> [(x.name, int(x.elements({"i": 8, "j": 32})), x.reads, x.writes, sorted(x.loops)) for x in found]
[('A', 272, True, False, ['i', 'j']), ('B', 256, False, True, ['i', 'j'])]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from planish.ir.expr import Expr
from planish.ir.index.evaluate import evaluate
from planish.ir.index.polynomial import build, constant, linear_in
from planish.ir.nest import Array, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import expressions, loads, stored_arrays, variables, walk
from planish.vliw.streams.cost import GUESS
from planish.vliw.streams.stream import RefusedError


@dataclass(frozen=True, slots=True)
class Subscript:
    """A dimension of an array: by how much it moves with each loop, and the elements that are used at once."""

    factors: Mapping[str, int]
    span: int

    def extent(self, lengths: Mapping[str, Any]) -> Any:
        """The elements that are used when loops run so often (numbers, or vectors of them)."""
        return self.span + sum(abs(f) * (lengths[v] - 1) for v, f in self.factors.items())


@dataclass(frozen=True, slots=True)
class ArrayFootprint:
    """What is used of an array. `reads`, `writes`: whether it is read before it is written, written at all."""

    name: str
    size: int
    subscripts: tuple[Subscript, ...]
    shape: tuple[int | None, ...]
    reads: bool
    writes: bool

    @property
    def loops(self) -> frozenset[str]:
        """The loops that the part moves with."""
        return frozenset(v for x in self.subscripts for v, f in x.factors.items() if f)

    def extents(self, lengths: Mapping[str, Any]) -> tuple[Any, ...]:
        """The extents of the part where loops run so often."""
        own = (x.extent(lengths) for x in self.subscripts)
        return tuple(x if most is None else np.minimum(x, most) for x, most in zip(own, self.shape, strict=True))

    def elements(self, lengths: Mapping[str, Any]) -> Any:
        """The elements of the part."""
        return prod(self.extents(lengths))


def trips_of(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, int]:
    """How often each loop runs, at most, for some sizes."""
    known: dict[str, int] = {**dict.fromkeys(kernel.sizes, GUESS), **sizes}
    out: dict[str, int] = {}
    for x in walk(kernel.body):
        if isinstance(x, For):
            bound = {**dict.fromkeys(variables(x.upper) | variables(x.lower), 0), **known}
            first = evaluate(x.lower, bound)
            last = max(evaluate(x.upper, {**bound, **{v: out.get(v, 1) - 1 for v in out}}), evaluate(x.upper, bound))
            out[x.var] = max(0, last - first)
    return out


def footprints_of(kernel: Kernel, sizes: Mapping[str, int]) -> tuple[ArrayFootprint, ...]:
    """What is used of each array that has dimensions; RefusedError where a subscript is not linear in the loops."""
    trips = trips_of(kernel, sizes)
    known = {**dict.fromkeys(kernel.sizes, GUESS), **sizes}
    places: dict[str, list[tuple[Expr, ...]]] = {}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Assign | Reduce):
            places.setdefault(stmt.array, []).append(stmt.index)
        for e in expressions(stmt):
            for load in loads(e):
                places.setdefault(load.array, []).append(load.index)
    stored = stored_arrays(kernel.body)
    out = []
    for array in kernel.arrays:
        if not array.shape or array.name not in places:
            continue
        dims = tuple(
            _subscript(array, [at[d] for at in places[array.name]], trips, known) for d in range(len(array.shape))
        )
        shape = tuple(None if x is None else evaluate(x, known) for x in array.shape)
        writes = array.name in stored
        reads = not writes or not _starts_anew(kernel.body, array.name)
        out.append(ArrayFootprint(array.name, array.type.size, dims, shape, reads, writes))
    return tuple(out)


def _subscript(
    array: Array, places: list[Expr], trips: Mapping[str, int], known: Mapping[str, int]
) -> Subscript:  # fmt: skip
    factors: dict[str, int] = {}
    rests: list[int] = []
    for x in places:
        own: dict[str, int] = {}
        for var in sorted(variables(x) & trips.keys()):
            parted = linear_in(x, var)
            factor = constant(build(parted[0])) if parted is not None else None
            if parted is None or factor is None:
                raise RefusedError(f"a subscript of `{array.name}` is not linear in `{var}`")
            own[var] = factor
            x = parted[1]
        rests.append(evaluate(x, known))
        factors = {v: max(factors.get(v, 0), own.get(v, 0), key=abs) for v in factors.keys() | own.keys()}
    return Subscript(factors, max(rests) - min(rests) + 1)


def _starts_anew(block: Block, name: str) -> bool:
    """Whether the first statement that uses an array assigns to it."""
    return bool(_first_use(block, name))


def _first_use(stmt: Stmt, name: str) -> bool | None:
    match stmt:
        case Assign(array=array):
            if any(x.array == name for e in expressions(stmt) for x in loads(e)):
                return False
            return True if array == name else None
        case Reduce(array=array):
            return False if name in {array, *(x.array for e in expressions(stmt) for x in loads(e))} else None
        case If(then=then, otherwise=otherwise):
            return False if any(name in {getattr(x, "array", "")} for b in (then, otherwise) for x in walk(b)) else None
        case For(body=inner):
            return _first_use(inner, name)
        case Block(body=body):
            return next((y for x in body if (y := _first_use(x, name)) is not None), None)
        case _:
            return None
