"""The cost model of steps, in cycles of one core: the longer of computing and of moving the operands.

>>> from planish.ir.expr import index
>>> from planish.ir.types import F64
>>> from planish.target.load import load_target
>>> model = Model(load_target("x86-avx512"), ({"n": 1000},))
>>> n = index("n")
>>> gemm = CostShape("gemm", (("ik", 1), ("kj", 1), ("ij", 1)), {"i": n, "j": n, "k": n})
>>> round(model.cycles(gemm, F64, {"n": 1000}) / 1e6, 1)
63.5
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product as combinations
from math import prod

from planish.ir.expr import Expr
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Kernel
from planish.ir.traverse import variables
from planish.ir.types import Type
from planish.raising.algebra.product import Product
from planish.raising.algebra.product_kinds import arranged, kind_of
from planish.target.machine import Target

_SAMPLES = (16, 128, 1024)
"""What a size may be that nothing is known of."""
_MOST_POINTS = 243
_MEMORY = 8.0
"""Bytes in a cycle between a core and memory, on any machine of the last ten years."""
_TURNED = 2.0
"""How much longer bytes take that are read along one dimension and written along another."""
_UNNAMED = 0.25
"""The share of the peak that a nest reaches for which there is no schedule of an expert."""
_UNPACKED = 2.0
"""How much longer such a nest takes for its operands, of which some are read against their order in memory."""
_STARTED = 50.0
"""Cycles before the first element of a step is computed."""

_PRODUCTS = ("gemm", "gemv", "ger", "dot")
_EXPERT = frozenset({"syrk", *_PRODUCTS, *(f"batched_{x}" for x in _PRODUCTS)})


@dataclass(frozen=True, slots=True)
class CostShape:
    """What of a step decides its cost: its kind, the letters of each operand and how often it is moved, the extents."""

    kind: str
    operands: tuple[tuple[str, float], ...]
    extents: Mapping[str, Expr]
    share: float = 1.0


def shape_of(product: Product) -> CostShape:
    """The shape of a product."""
    product = arranged(product)
    operands = [(x.letters, 1.0) for x in product.factors]
    operands.append((product.output.letters, 1.0 if product.overwrites else 2.0))
    return CostShape(kind_of(product), tuple(operands), product.extents)


@dataclass(frozen=True, slots=True)
class Model:
    """A machine, and the sizes at which costs are compared."""

    target: Target
    points: tuple[Mapping[str, int], ...]

    def cycles(self, shape: CostShape, type: Type, sizes: Mapping[str, int]) -> float:
        """The cycles of a step at given sizes."""
        return self.time(shape, type, {x: max(0, evaluate(y, sizes)) for x, y in shape.extents.items()})

    def time(self, shape: CostShape, type: Type, extents: Mapping[str, int]) -> float:
        """The cycles of a step whose letters have these extents."""
        sets = [frozenset(letters) for letters, _ in shape.operands]
        volume = prod(extents[x] for x in frozenset().union(*sets)) * shape.share
        factors = len(sets) - 1
        flops = volume * 2 * max(1, factors - 1) if factors > 1 else volume
        peak = float(self.target.flops_per_cycle(type)) / (1 if factors > 1 else 2)
        calls, slower = 1, _TURNED if shape.kind in ("transpose", "add_transpose") else 1.0
        if factors > 1 and shape.kind not in _EXPERT:
            peak *= _UNNAMED
            slower = _UNPACKED
        elif factors == 2:
            first, second, output = sets
            calls = prod(extents[x] for x in first & second & output)
            if shape.kind.endswith(("gemm", "syrk")):
                rows, columns = prod(extents[x] for x in first - second), prod(extents[x] for x in second - first)
                # Blocks at the edges are filled in part.
                peak *= _filled(rows, 8) * _filled(columns, self.target.lanes(type))
        elements = [(prod(extents[x] for x in letters) * type.size, times) for letters, times in shape.operands]
        moved = sum(x * times for x, times in elements) * slower * shape.share
        return max(flops / peak, moved / self.bandwidth(sum(x for x, _ in elements))) + _STARTED * calls

    def bandwidth(self, footprint: float) -> float:
        """Bytes in a cycle where so many are in use: two vectors from the nearest cache, half of it from each next."""
        rate = max(8.0, self.target.vector_bits / 8) * 2
        for cache in self.target.caches:
            if footprint <= cache.share:
                return rate
            rate = max(_MEMORY, rate / 2)
        return _MEMORY

    def total(self, steps: Iterable[tuple[CostShape, Type]]) -> tuple[float, ...]:
        """The cycles of some steps at each of the points."""
        listed = tuple(steps)
        return tuple(sum(self.cycles(x, t, point) for x, t in listed) for point in self.points)

    def wins(self, fresh: Iterable[tuple[CostShape, Type]], old: Iterable[tuple[CostShape, Type]]) -> bool:
        """Whether steps take less time than others: at most of the points, and over all of them."""
        a, b = self.total(fresh), self.total(old)
        return sum(a) < sum(b) and 2 * sum(x < y for x, y in zip(a, b, strict=True)) > len(a)


def _filled(extent: int, block: int) -> float:
    """The part of the machine that is busy where an extent is worked off in blocks."""
    return max(1, extent) / (max(1, extent) + block)


def sample(kernel: Kernel, typical: Mapping[str, int]) -> tuple[Mapping[str, int], ...]:
    """Sizes at which to compare costs: the typical ones where they are given, otherwise small to large ones."""
    names = kernel.sizes
    choices = [(typical[x],) if x in typical else _SAMPLES for x in names]
    number = prod(len(x) for x in choices)
    if number <= _MOST_POINTS:
        points = [dict(zip(names, x, strict=True)) for x in combinations(*choices)]
    else:
        source = random.Random(0)
        points = [{x: source.choice(y) for x, y in zip(names, choices, strict=True)} for _ in range(_MOST_POINTS)]
    allowed = [x for x in points if all(_holds(y, x) for y in kernel.assumptions)]
    return tuple(allowed or points)


def _holds(condition: Expr, sizes: Mapping[str, int]) -> bool:
    return not variables(condition) <= sizes.keys() or evaluate(condition, sizes) != 0
