"""2-D convolutions as the loops of the library's convolution kernel.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.raising.operation import Operation
>>> from planish.raising.raised import whole
>>> nest = "for f in 0 .. m { for y in 0 .. n { for x in 0 .. n { for c in 0 .. k { for r in 0 .. 3 { for s in 0 .. 3 {"
>>> nest += " C[f, y, x] += A[c, y + r, x + s] * B[f, c, r, s] } } } } } }"
>>> shapes = "A: f64[k, n + 2, n + 2], B: f64[m, k, 3, 3], C: f64[m, n, n]"
>>> definition = parse_kernel(f"kernel conv(m, n, k; {shapes}) {{ {nest} }}")
>>> extents = {"A": (8, 30, 30), "B": (16, 8, 3, 3), "C": (16, 28, 28)}
>>> arrays = {x: Array(x, F32, tuple(map(index, y))) for x, y in extents.items()}
>>> sizes = {"m": index(16), "n": index(28), "k": index(8)}
>>> step = Apply(Operation("conv", definition), {x: whole(y) for x, y in arrays.items()}, sizes)
>>> find_windows(step, arrays, set()).window.name
'3x3'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planish.core.names import take_name
from planish.ir.expr import Binary, Cast, Expr, Load, index
from planish.ir.nest import Array, Assign, Block, For, Reduce, Stmt
from planish.ir.types import F32, F64, I32, Type
from planish.library.kernels.batched_gemm import NoMatricesError, element, numbers_of, zero
from planish.library.kernels.gemm.window import Window
from planish.library.kernels.vectors import ProductTypes as Numbers
from planish.raising.algebra.product import Product, ProductOperand
from planish.raising.algebra.product_kinds import kind_of
from planish.raising.algebra.product_reader import read_product
from planish.raising.algebra.rules.direct_conv import find_direct
from planish.raising.raised import Apply


@dataclass(frozen=True, slots=True)
class Windows:
    """The loops that store a convolution, or add it; `batch`: loops around them, and how often they run."""

    product: Product
    window: Window
    loop: For
    batch: Mapping[str, Expr]
    numbers: Numbers
    names: tuple[str, str, str]
    """The arrays: the output's, those of the image and of the weights."""
    letters: Mapping[str, str]

    @property
    def type(self) -> Type:
        """The type of the sums."""
        return self.numbers.sum


def find_windows(step: Apply, arrays: Mapping[str, Array], taken: set[str]) -> Windows:
    """The convolution that an operation is, with names for its loops that are not taken; NoMatricesError where it is
    none that the library has."""
    output = arrays[step.operands[step.operation.output].array]
    product = read_product(step, output.type)
    if isinstance(product, str):
        raise NoMatricesError(product)
    if kind_of(product) != "convolution":
        raise NoMatricesError("nothing is seen through a window")
    found = find_direct(product)
    if isinstance(found, str):
        raise NoMatricesError(found)
    if output.type not in (F32, F64, I32):
        raise NoMatricesError(f"its elements are {output.type}, not f32, f64 or i32")
    left, right = (arrays[x.view.array].type for x in (found.image, found.kernel))
    numbers = numbers_of(left, right, output.type)
    order = found.features + found.places + found.channels + found.window
    used = set(taken)
    names = dict(zip(order, "fyxprs", strict=True))
    letters = {x: take_name(names.get(x, "n"), used) for x in found.batch + order}

    def load(term: ProductOperand) -> Expr:
        value = Load(term.view.array, element(term, letters), arrays[term.view.array].type)
        return value if value.type == numbers.sum else Cast(value, numbers.sum)

    value = Binary("mul", load(found.image), load(found.kernel))
    place = element(product.output, letters)
    body: Stmt = Reduce(output.name, place, "add", value)
    for letter in reversed(order):
        clear = product.overwrites and letter == found.places[-1]
        first = (Assign(output.name, place, zero(output.type)),) if clear else ()
        body = For(letters[letter], index(0), product.extents[letter], 1, Block((*first, body)))
    assert isinstance(body, For)
    arrays_of = (output.name, found.image.view.array, found.kernel.view.array)
    batch = {letters[x]: product.extents[x] for x in found.batch}
    window = Window(found.extents, found.steps, found.apart)
    return Windows(product, window, body, batch, numbers, arrays_of, letters)
