"""Direct convolution in place of im2col: accumulated in place, with output positions of a row as neighbours in memory.

Before: O[b, f, y, x] += sum over c, r, s of X[b, c, 2 y + r, 2 x + s] * W[f, c, r, s]
After:  the same, with the part that each letter plays

>>> from planish.ir.expr import index
>>> from planish.ir.nest import Array
>>> from planish.ir.types import F32
>>> from planish.raising.algebra.product_writer import whole_term
>>> from planish.raising.raised import View
>>> at = {x: index(y) for x, y in zip("fyxcrs", (64, 28, 28, 32, 3, 3))}
>>> O, W = (Array(x, F32, tuple(at[y] for y in z)) for x, z in (("O", "fyx"), ("W", "fcrs")))
>>> steps = ((0, 2, 0), (0, 0, 2), (1, 0, 0), (0, 1, 0), (0, 0, 1))
>>> image = ProductOperand(View("X", (index(0),) * 3, steps, tuple(at[x] for x in "yxcrs")), "yxcrs")
>>> product = Product(whole_term(O, "fyx"), (image, whole_term(W, "fcrs")), at, "crs", None, index(1))
>>> found = find_direct(product)
>>> found.features, found.channels, found.places, found.window, found.steps, found.apart
('f', 'c', 'yx', 'rs', (2, 2), (1, 1))
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.ir.index.polynomial import constant
from planish.raising.algebra.conv_window import is_windowed
from planish.raising.algebra.product import Product, ProductOperand

_MOST = 256
"""The elements of a window at most."""


@dataclass(frozen=True, slots=True)
class Direct:
    """A convolution by the letters of its loops: places and elements of the window (the row's, then that along it);
    `batch`: those of loops around. The window moves by `steps`, its elements are `apart`, and it has `extents`."""

    image: ProductOperand
    kernel: ProductOperand
    batch: str
    features: str
    channels: str
    places: str
    window: str
    extents: tuple[int, int]
    steps: tuple[int, int]
    apart: tuple[int, int]


def find_direct(product: Product) -> Direct | str:
    """The parts of a convolution, or why it is none that is summed where the image lies."""
    found = find_parts(product)
    if isinstance(found, str):
        return found
    image, places, window = found.image, found.places, found.window
    if product.output.nearest != places[-1] or image.nearest not in (places[-1] + window[-1], window[-1] + places[-1]):
        return "places of a row are no neighbours in memory"
    for term, slow in ((image, found.channels), (product.output, found.features)):
        if not _dimension(term, slow) < _dimension(term, places[0]):
            return "rows lie apart from those of the next channel or feature"
    return found


def find_parts(product: Product) -> Direct | str:
    """The parts of a convolution in two dimensions by a window of known extents, however its arrays lie, or why it is
    none."""
    windowed = [x for x in product.factors if is_windowed(x)]
    others = [x for x in product.factors if not is_windowed(x)]
    if len(windowed) != 1 or len(others) != 1:
        return "both of its operands are seen through a window"
    image, kernel = windowed[0], others[0]
    if product.alpha is not None:
        return "it is multiplied by a number"
    pairs = [x for d in range(len(image.view.start)) if (x := _pair(image, product, d)) is not None]
    if len(pairs) != 2:
        return "its window has not two dimensions"
    places, window = "".join(x[0] for x in pairs), "".join(x[1] for x in pairs)
    extents = [constant(product.extents[x]) for x in window]
    if None in extents or not 0 < (extents[0] or 0) * (extents[1] or 0) <= _MOST:
        return "the extents of its window are not known"
    features = "".join(x for x in product.output.letters if x in kernel.letters and x not in image.letters)
    channels = "".join(x for x in product.sums if x not in window)
    if len(features) != 1 or len(channels) != 1:
        return "it has not one dimension of features and one of channels"
    batch = "".join(x for x in product.output.letters if x not in features + places)
    rows, columns = extents
    steps, apart = ([_step(image, x) for x in letters] for letters in (places, window))
    return Direct(
        image, kernel, batch, features, channels, places, window, (rows or 0, columns or 0),
        (steps[0], steps[1]), (apart[0], apart[1]),
    )  # fmt: skip


def _pair(image: ProductOperand, product: Product, d: int) -> tuple[str, str] | None:
    """The letter of a place and that of an element of the window that step through a dimension, both forwards."""
    found = [x for x, step in zip(image.letters, image.view.steps, strict=True) if step[d]]
    place = [x for x in found if x in product.output.letters]
    element = [x for x in found if x in product.sums]
    if len(found) != 2 or len(place) != 1 or len(element) != 1 or min(_step(image, x) for x in found) <= 0:
        return None
    return place[0], element[0]


def _dimension(term: ProductOperand, letter: str) -> int:
    """The dimension of the array along which a letter steps."""
    return next((d for d, x in enumerate(term.view.steps[term.letters.index(letter)]) if x), -1)


def _step(image: ProductOperand, letter: str) -> int:
    """How far a letter steps; negative where it does so through several dimensions."""
    step = [x for x in image.view.steps[image.letters.index(letter)] if x]
    return step[0] if len(step) == 1 else -1
