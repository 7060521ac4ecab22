"""Convolution windows: two letters that step through one dimension of an array.

>>> from planish.ir.expr import index
>>> from planish.ir.text.printer import print_expr
>>> view = View("I", (index(0), index(0)), ((1, 0), (0, 1), (2, 0)), (index(4), index(5), index(3)))
>>> picture = ProductOperand(view, "iak")
>>> seen = operand(picture)
>>> print(seen.view, [print_expr(x) for x in seen.subscripts], is_windowed(picture))
I[0 + x0, 0 + x1 | x0 < 8, x1 < 5] ['i + 2 * k', 'a'] True
>>> is_windowed(ProductOperand(View("I", (index(0),), ((5,), (1,)), (index("n"), index(5))), "ij"))
False
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.ir.expr import Expr, index
from planish.ir.index.polynomial import add, constant, mul, sub
from planish.raising.algebra.product import ProductOperand
from planish.raising.raised import View


@dataclass(frozen=True, slots=True)
class WindowOperand:
    """A factor as a definition has it: a view, its subscripts in terms of letters, and its extents, where `nx` is the
    extent of letter x."""

    view: View
    subscripts: tuple[Expr, ...]
    shape: tuple[Expr, ...]


def is_windowed(term: ProductOperand) -> bool:
    """Whether letters of an operand step through the same dimension, so that they may meet."""
    return any(len(x) > 1 for x in _parts(term))


def operand(term: ProductOperand) -> WindowOperand:
    """The factor with one dimension for the letters of each window, and for each other letter."""
    view = term.view
    steps, extents, subscripts, shape = [], [], [], []
    for letters in _parts(term):
        places = [term.letters.index(x) for x in letters]
        if len(letters) == 1:
            (place,) = places
            steps.append(view.steps[place])
            extents.append(view.shape[place])
            subscripts.append(index(letters))
            shape.append(index(f"n{letters}"))
            continue
        d = next(n for n, x in enumerate(view.steps[places[0]]) if x)
        steps.append(tuple(int(n == d) for n in range(len(view.start))))
        subscript, extent, declared = index(0), index(1), index(1)
        for letter, place in zip(letters, places, strict=True):
            step = index(view.steps[place][d])
            subscript = add(subscript, mul(step, index(letter)))
            extent = add(extent, mul(step, sub(view.shape[place], index(1))))
            declared = add(declared, mul(step, sub(index(f"n{letter}"), index(1))))
        subscripts.append(subscript)
        extents.append(extent)
        shape.append(declared)
    return WindowOperand(View(view.array, view.start, tuple(steps), tuple(extents)), tuple(subscripts), tuple(shape))


def _parts(term: ProductOperand) -> list[str]:
    """The letters of each window together, every other letter alone, in the order of their first ones."""
    sharing: dict[int, str] = {}
    for letter, step in zip(term.letters, term.view.steps, strict=True):
        dims = [d for d, x in enumerate(step) if x]
        # Letters that step through one dimension alone, and forwards.
        if len(dims) == 1 and step[dims[0]] > 0:
            sharing[dims[0]] = sharing.get(dims[0], "") + letter
    windows = {x: letters for d, letters in sharing.items() if _overlaps(term, d, letters) for x in letters}
    return list(dict.fromkeys(windows.get(x, x) for x in term.letters))


def _overlaps(term: ProductOperand, d: int, letters: str) -> bool:
    """Whether letters that step through a dimension may reach an element in two ways: not so the digits of a number."""
    places = sorted((term.letters.index(x) for x in letters), key=lambda x: term.view.steps[x][d])
    reach = 0
    for n, place in enumerate(places):
        step, extent = term.view.steps[place][d], constant(term.view.shape[place])
        if step <= reach:
            return True
        if extent is None:
            # Nothing is known of how far it goes, but nothing steps over it.
            return n < len(places) - 1
        reach += step * max(0, extent - 1)
    return False
