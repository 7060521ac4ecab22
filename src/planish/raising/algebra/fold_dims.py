"""Folds dimensions that are contiguous in memory: the same array under another shape.

>>> from planish.ir.expr import index
>>> from planish.ir.nest import Array
>>> from planish.ir.types import F32
>>> from planish.raising.raised import whole
>>> array = Array("A", F32, (index("n"), index(3), index(4)))
>>> found = fold(ProductOperand(whole(array), "iab"), ("i", "ab"), array, "A_flat")
>>> print(found.term.view, found.term.letters, found.array.shape[1].value)
A_flat[0 + x0, 0 + x1 | x0 < n, x1 < 12] ia 12
>>> fold(ProductOperand(whole(array), "iab"), ("i", "ba"), array, "A_flat") is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import mul, normal, same
from planish.ir.nest import Array
from planish.raising.algebra.product import ProductOperand, is_number
from planish.raising.raised import View


@dataclass(frozen=True, slots=True)
class Folded:
    """An operand with a letter for each group, the first of the group's, and the array under its other shape."""

    term: ProductOperand
    array: Array | None


def fold(term: ProductOperand, groups: Sequence[str], array: Array, name: str) -> Folded | None:
    """The operand with each group of letters (the slowest first) as one dimension; None where memory has another order.

    `array` is the operand's, `name` what it is called under its other shape.
    """
    groups = [x for x in groups if x]
    if all(len(x) == 1 for x in groups):
        return Folded(term.ordered("".join(groups)), None)
    dims = {x: _dimension(term, x) for x in term.letters}
    merged: dict[int, int] = {}
    for group in groups:
        for slow, fast in zip(group, group[1:], strict=False):
            a, b = dims[slow], dims[fast]
            if a is None or b is None or b != a + 1:
                return None
            extent = array.shape[b]
            whole = extent is not None and same(extent, term.view.shape[term.letters.index(fast)])
            if not whole or not is_number(normal(term.view.start[b]), 0):
                return None
            merged[b] = a
    runs: list[list[int]] = []
    for d in range(len(array.shape)):
        if d in merged:
            runs[-1].append(d)
        else:
            runs.append([d])
    shape = tuple(_extent(array, run) for run in runs)
    start = tuple(_start(term, array, run) for run in runs)
    steps = []
    for group in groups:
        if len(group) > 1:
            steps.append(tuple(int(dims[group[-1]] in run) for run in runs))
        else:
            step = term.view.steps[term.letters.index(group)]
            steps.append(tuple(step[run[0]] if len(run) == 1 else 0 for run in runs))
    extents = []
    for group in groups:
        total: Expr = index(1)
        for x in group:
            total = mul(total, term.view.shape[term.letters.index(x)])
        extents.append(total)
    view = View(name, start, tuple(steps), tuple(extents))
    return Folded(
        ProductOperand(view, "".join(x[0] for x in groups)), Array(name, array.type, shape, memory=array.memory)
    )


def _dimension(term: ProductOperand, letter: str) -> int | None:
    """The dimension of the array along which alone a letter steps, one by one, and nothing else does."""
    step = term.view.steps[term.letters.index(letter)]
    found = [d for d, x in enumerate(step) if x]
    if len(found) != 1 or step[found[0]] != 1:
        return None
    if sum(x[found[0]] != 0 for x in term.view.steps) != 1:
        return None
    return found[0]


def _extent(array: Array, run: list[int]) -> Expr | None:
    total: Expr = index(1)
    for d in run:
        extent = array.shape[d]
        if extent is None:
            return None
        total = mul(total, extent)
    return total


def _start(term: ProductOperand, array: Array, run: list[int]) -> Expr:
    """Where the view begins; but for the first, the dimensions of a run begin at 0."""
    out = normal(term.view.start[run[0]])
    for d in run[1:]:
        extent = array.shape[d]
        assert extent is not None
        out = mul(out, extent)
    return out
