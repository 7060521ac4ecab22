"""Transform matrices: which linear transform a sum is, by the matrix of its weights, computed for all indices.

>>> from planish.ir.text.parser import parse_expr
>>> load = Load("x", (parse_expr("n"),), F64)
>>> weight = parse_expr("0.5 * cos(0.39269908169872414 * f64(i32(k) * (2:i32 * i32(n) + 1:i32)))")
>>> found = identify(WeightMatrices("k", "n", 4, 4, ((WeightedElement(load, weight),),), (load,)), F64)
>>> found.kind, [round(x, 6) for x in found.factors]
('cosine', [0.5, 0.5, 0.5, 0.5])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import tau
from typing import Literal

import numpy as np

from planish.ir.expr import Binary, Call, Const, Expr, Load, type_of
from planish.ir.traverse import walk_expr
from planish.ir.types import F64, Type
from planish.raising.match.weight_matrix import NoWeightError, Numbers, weights

_CELLS = 1 << 20
"""So many weights are computed at a time."""
_ROUNDINGS, _TURNS = 4, 16
"""How many roundings a weight may be off, and its angle: pi may have been written with fifteen digits."""

Kind = Literal["fourier", "cosine", "cosine back"]


class NoTransformError(Exception):
    """Sums that are no transform; the text says why."""


@dataclass(frozen=True, slots=True)
class WeightedElement:
    """An element, times a weight."""

    load: Load
    weight: Expr = Const(1.0, F64)

    def times(self, factor: Expr, op: Literal["mul", "div"] = "mul") -> WeightedElement:
        """The term times a factor, or divided by one."""
        return replace(self, weight=Binary(op, self.weight, factor))


@dataclass(frozen=True, slots=True)
class WeightMatrices:
    """The weights of each output's sum: of each source a matrix, whose `rows` are the iterations of the outer loop, and
    whose columns those of the inner one, of which there are `size`."""

    outer: str
    inner: str
    rows: int
    size: int
    sums: tuple[tuple[WeightedElement, ...], ...]
    sources: tuple[Load, ...]

    def blocks(self) -> Iterator[tuple[range, list[list[Numbers]]]]:
        """Some rows at a time."""
        count = max(2, _CELLS // self.size)
        for first in range(0, self.rows, count):
            rows = range(first, min(first + count, self.rows))
            yield rows, [[self._weights(terms, x, rows) for x in self.sources] for terms in self.sums]

    def angles(self, type: Type) -> Type:
        """The type in which angles are computed, where they are seen; `type` otherwise."""
        calls = [x for terms in self.sums for term in terms for x in walk_expr(term.weight) if isinstance(x, Call)]
        parts = [x for call in calls for y in call.arguments for x in walk_expr(y) if not isinstance(x, Const)]
        return min((t for x in parts if (t := type_of(x)).is_float), key=lambda t: t.bits, default=type)

    def _weights(self, terms: Sequence[WeightedElement], source: Load, rows: range) -> Numbers:
        axes: Mapping[str, range] = {self.outer: rows, self.inner: range(self.size)}
        total = np.zeros((len(rows), self.size))
        try:
            for term in terms:
                if term.load == source:
                    total = total + weights(term.weight, axes)
        except NoWeightError as error:
            raise NoTransformError(f"a weight is not known: {error}") from error
        return total


@dataclass(frozen=True, slots=True)
class Identity:
    """What sums are. "fourier": y[k] is the sum of x[n] exp(-2 pi i k n / size), times `scale`; "cosine": the sum of
    x[n] cos(pi k (2 n + 1) / (2 size)), times `factors[k]`; "cosine back": that of x[n] cos(pi n (2 k + 1) / (2 size))
    times `factors[n]`. `outputs` are the real and the imaginary part, `parts` those of the sources (None: zeros);
    `deviation` is how far a weight is off, relative to the largest, which comes of rounded angles."""

    kind: Kind
    outputs: tuple[int, ...]
    parts: tuple[int | None, int | None]
    scale: float = 1.0
    factors: tuple[float, ...] = ()
    deviation: float = 0.0


def identify(matrices: WeightMatrices, type: Type) -> Identity:
    """What sums are; NoTransformError where they are none of these. Backwards is forwards with parts exchanged."""
    possible: Sequence[Identity]
    roundings = float(np.finfo(type.numpy).eps), float(np.finfo(matrices.angles(type).numpy).eps)
    if len(matrices.sums) == 2:
        sources: list[int | None] = [*range(len(matrices.sources)), None]
        orders = [(x, y) for x in permutations((0, 1)) for y in permutations(sources[:2])]
        possible = [Identity("fourier", x, (y[0], y[1])) for x, y in orders]
    else:
        possible = [Identity("cosine", (0,), (0, None)), Identity("cosine back", (0,), (0, None))]
    found: list[Identity] = []
    for number, (rows, block) in enumerate(matrices.blocks()):
        scaled = [_scaled(x, block, rows, matrices.size) for x in (possible if number == 0 else found)]
        found = [y for x in scaled if (y := _fitted(block, rows, matrices.size, x, roundings)) is not None]
        if not found:
            raise NoTransformError("its weights are not those of a Fourier or cosine transform")
    return found[0]


def _scaled(identity: Identity, block: list[list[Numbers]], rows: range, size: int) -> Identity:
    """The same with its factors, as far as some rows tell."""
    output, source = next((x, y) for x, y in zip((*identity.outputs, 0), identity.parts, strict=False) if y is not None)
    matrix = block[output][source]
    first = rows.start == 0
    match identity.kind:
        case "fourier":
            return replace(identity, scale=float(matrix[0, 0])) if first else identity
        case "cosine":
            ideal = _cosines(rows, range(size), size)
            factors = (matrix * ideal).sum(1) / (ideal * ideal).sum(1)
            return replace(identity, factors=(*identity.factors, *map(float, factors)))
        case "cosine back":
            ideal = _cosines(range(size), rows, size).T
            factors = (matrix * ideal).sum(0) / (ideal * ideal).sum(0)
            return replace(identity, factors=tuple(map(float, factors))) if first else identity


def _cosines(frequencies: range, places: range, size: int) -> Numbers:
    """cos(pi k (2 n + 1) / (2 size)) for frequencies k and places n."""
    turns = np.outer(np.arange(frequencies.start, frequencies.stop), 2 * np.arange(places.start, places.stop) + 1)
    return np.asarray(np.cos(tau / (4 * size) * (turns % (4 * size))))


def _ideal(identity: Identity, rows: range, size: int) -> tuple[tuple[Numbers, ...], ...]:
    """The weights as they should be: for each output those of each part."""
    match identity.kind:
        case "fourier":
            angles = tau / size * (np.outer(np.arange(rows.start, rows.stop), np.arange(size)) % size)
            cosines, sines = identity.scale * np.cos(angles), identity.scale * np.sin(angles)
            return (cosines, sines), (-sines, cosines)
        case "cosine":
            factors = np.array(identity.factors[rows.start : rows.stop])
            return ((factors[:, None] * _cosines(rows, range(size), size),),)
        case "cosine back":
            return ((np.array(identity.factors) * _cosines(range(size), rows, size).T,),)


def _fitted(
    block: list[list[Numbers]], rows: range, size: int, identity: Identity, roundings: tuple[float, float]
) -> Identity | None:
    """The same, with how far weights are off; None where some rows are not those of the transform, but for what
    `roundings` of the weights, and of their angles, make of them."""
    largest = max(abs(identity.scale if identity.kind == "fourier" else x) for x in identity.factors or (1.0,))
    if largest == 0:
        return None
    turns = np.outer(np.arange(rows.start, rows.stop) + 1, np.arange(size) + 1)
    own, angle = roundings
    reach = largest * (_ROUNDINGS * own + _TURNS * angle * tau / size * turns)
    worst = identity.deviation
    for output, row in zip(identity.outputs, _ideal(identity, rows, size), strict=True):
        for part, wanted in zip(identity.parts, row, strict=False):
            if part is not None:
                off = abs(block[output][part] - wanted)
                if not bool((off <= reach).all()):
                    return None
                worst = max(worst, float(off.max()) / largest)
    return replace(identity, deviation=worst)
