"""Operations that are matrix products as the loops of a batched GEMM: C += alpha A B for each of a batch.

>>> from planish.ir.expr import index
>>> from planish.ir.nest import Array
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F32
>>> from planish.raising.operation import Operation
>>> from planish.raising.raised import whole
>>> nest = "for i in 0 .. m { for j in 0 .. n { for p in 0 .. k { C[i, j] += A[i, p] * B[j, p] } } }"
>>> text = f"kernel nt(m, n, k; A: f64[m, k], B: f64[n, k], C: f64[m, n]) {{ {nest} }}"
>>> shapes = {"A": (8, 3), "B": (9, 3), "C": (8, 9)}
>>> arrays = {x: Array(x, F32, tuple(map(index, y))) for x, y in shapes.items()}
>>> sizes = {"m": index(8), "n": index(9), "k": index(3)}
>>> step = Apply(Operation("nt", parse_kernel(text)), {x: whole(y) for x, y in arrays.items()}, sizes)
>>> found = find_matrices(step, arrays, set())
>>> found.op, str(found.type), found.names
('nt', 'f32', ('C', 'A', 'B'))
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from planish.core.names import take_name
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Var, index
from planish.ir.index.polynomial import add, constant, mul
from planish.ir.nest import Array, Assign, Block, For, If, Reduce, Stmt
from planish.ir.traverse import variables
from planish.ir.types import F32, F64, I32, INDEX, Type
from planish.library.kernels.gemm.operands import Op
from planish.library.kernels.vectors import PRODUCTS
from planish.library.kernels.vectors import ProductTypes as Numbers
from planish.poly.isl.expression import conjunction
from planish.raising.algebra.product import Product, ProductOperand, is_number
from planish.raising.algebra.product_kinds import Groups, arranged, groups_of, kind_of
from planish.raising.algebra.product_reader import read_product
from planish.raising.raised import Apply, whole


class NoMatricesError(Exception):
    """An operation that is no product of matrices that the library has; the text says why."""


@dataclass(frozen=True, slots=True)
class BatchedProduct:
    """A product whose operands have rows, or columns, of neighbours in memory; `numbers`: the types of the factors and
    of the sums; `batch`: loops around it, and how often they run."""

    product: Product
    groups: Groups
    op: Op
    numbers: Numbers
    batch: Mapping[str, Expr]
    letters: Mapping[str, str]

    @property
    def type(self) -> Type:
        """The type of the sums."""
        return self.numbers.sum

    @property
    def is_turned(self) -> bool:
        """Whether the second factor lies in a way for which there is no kernel."""
        return self.numbers.group > 1 and self.op == "nt"

    @property
    def stores(self) -> bool:
        """Whether the kernel sets what the product begins with."""
        return self.numbers.group > 1 and self.product.overwrites

    @property
    def names(self) -> tuple[str, str, str]:
        """The arrays: the output's, those of the factors."""
        first, second = self.product.factors
        return self.product.output.view.array, first.view.array, second.view.array


def find_matrices(step: Apply, arrays: Mapping[str, Array], taken: set[str]) -> BatchedProduct:
    """The product of matrices that an operation is, with names for its loops that are not taken; NoMatricesError where
    it is none that the library has."""
    type = arrays[step.operands[step.operation.output].array].type
    found = read_product(step, type)
    if isinstance(found, str):
        raise NoMatricesError(found)
    if type not in (F32, F64, I32):
        raise NoMatricesError(f"its elements are {type}, not f32, f64 or i32")
    product = arranged(found)
    kind = kind_of(product)
    if kind not in ("gemm", "batched_gemm"):
        raise NoMatricesError(f"it is no product of matrices but a `{kind}`")
    groups = groups_of(product)
    assert groups is not None
    if _lies(product.output, groups.rows, groups.columns, arrays) == "t":
        product, groups = _exchanged(product, groups)
    first, second = product.factors
    if _lies(product.output, groups.rows, groups.columns, arrays) != "n":
        raise NoMatricesError(f"no dimension of `{product.output.view.array}` has neighbours in memory")
    a = _lies(first, groups.rows, groups.depth, arrays)
    b = _lies(second, groups.depth, groups.columns, arrays)
    ops: dict[tuple[str, str], Op] = {("n", "n"): "nn", ("n", "t"): "nt", ("t", "n"): "tn", ("t", "t"): "tt"}
    if (a, b) not in ops:
        name = (first if a == "" else second).view.array
        raise NoMatricesError(f"no dimension of `{name}` has neighbours in memory")
    numbers = numbers_of(arrays[first.view.array].type, arrays[second.view.array].type, type)
    if numbers.group > 1 and a == "t":
        raise NoMatricesError(f"there are none of {numbers.name} whose first factor lies transposed")
    if numbers.group > 1 and product.alpha is not None and not is_number(product.alpha, 1):
        raise NoMatricesError(f"there are none of {numbers.name} with a factor")
    used = set(taken)
    wanted = (*((x, "s") for x in groups.batch), (groups.rows, "i"), (groups.columns, "j"), (groups.depth, "p"))
    letters = {x: take_name(name, used) for x, name in wanted}
    batch = {letters[x]: product.extents[x] for x in groups.batch}
    return BatchedProduct(product, groups, ops[a, b], numbers, batch, letters)


def numbers_of(left: Type, right: Type, sum: Type) -> Numbers:
    """The library's product for factors and sums of these types."""
    found = (x for x in PRODUCTS.values() if (x.left, x.right, x.sum) == (left, right, sum))
    numbers = next(found, None)
    if numbers is None:
        raise NoMatricesError(f"there are none of {left} by {right} that add up to {sum}")
    return numbers


def turn(matrices: BatchedProduct, name: str, sizes: Collection[str]) -> tuple[BatchedProduct, Array, Stmt]:
    """The same product, with its second factor, which lies transposed, in an array of that name where it does not; the
    array, and the loops that fill it. NoMatricesError where more than `sizes` say how large it is."""
    product, letters = matrices.product, matrices.letters
    first, second = product.factors
    order = "".join(x for x in matrices.groups.batch if x in second.letters)
    order += matrices.groups.depth + matrices.groups.columns
    extents = tuple(product.extents[x] for x in order)
    if not all(variables(x) <= {*sizes} for x in extents):
        raise NoMatricesError(f"how much of `{second.view.array}` is turned round depends on the iteration")
    array = Array(name, matrices.numbers.right, extents, True)
    own = ProductOperand(whole(array), order)
    value = Load(second.view.array, element(second, letters), array.type)
    fill: Stmt = Assign(name, element(own, letters), value)
    for letter in reversed(order):
        fill = For(letters[letter], index(0), product.extents[letter], 1, Block((fill,)))
    # Where nothing is multiplied by it, it need not be there.
    needed = conjunction(Compare("ge", product.extents[x], index(1)) for x in product.output.letters)
    fill = If(needed, Block((fill,)))
    return replace(matrices, product=replace(product, factors=(first, own)), op="nn"), array, fill


def _exchanged(product: Product, groups: Groups) -> tuple[Product, Groups]:
    """The product of the transposed factors in the other order, which is the output transposed."""
    first, second = product.factors
    turned = Product(
        product.output, (second, first), product.extents, product.sums, product.alpha, product.beta, product.exact
    )
    return turned, Groups(groups.batch, groups.columns, groups.rows, groups.depth)


def _lies(term: ProductOperand, rows: str, columns: str, arrays: Mapping[str, Array]) -> Literal["n", "t", ""]:
    """How a matrix lies: with its rows of neighbours ("n"), with its columns ("t"), or neither."""
    if constant(stride(term, columns, arrays)) == 1:
        return "n"
    return "t" if constant(stride(term, rows, arrays)) == 1 else ""


def stride(term: ProductOperand, letter: str, arrays: Mapping[str, Array]) -> Expr:
    """How many elements lie between two neighbours along a letter."""
    out: Expr = index(0)
    for step, extent in zip(term.view.steps[term.letters.index(letter)], arrays[term.view.array].shape, strict=True):
        # Nothing times an extent is nothing, whatever an extent is written as.
        rows = index(0) if constant(out) == 0 else out if extent is None else mul(out, extent)
        out = add(rows, index(step))
    return out


def loops_of(matrices: BatchedProduct) -> For:
    """The plain loops that add the product to the output, or store it, without those of the batch."""
    product, groups = matrices.product, matrices.groups
    at = [element(x, matrices.letters) for x in product.factors]
    numbers = matrices.numbers
    left, right = Load(matrices.names[1], at[0], numbers.left), Load(matrices.names[2], at[1], numbers.right)
    if numbers.group > 1:
        value = Binary("mul", Cast(left, numbers.sum), Cast(right, numbers.sum))
    else:
        alpha = Const(1.0, matrices.type) if product.alpha is None else product.alpha
        value = Binary("mul", Binary("mul", alpha, left), right)
    target = product.output.view.array
    place = element(product.output, matrices.letters)
    body: Stmt = Reduce(target, place, "add", value)
    for letter in (groups.depth, groups.columns, groups.rows):
        clear = matrices.stores and letter == groups.columns
        first = (Assign(target, place, zero(matrices.type)),) if clear else ()
        body = For(matrices.letters[letter], index(0), product.extents[letter], 1, Block((*first, body)))
    assert isinstance(body, For)
    return body


def zero(type: Type) -> Const:
    """A sum of nothing."""
    return Const(0.0 if type.is_float else 0, type)


def begin(product: Product, letters: Mapping[str, str], type: Type) -> list[Stmt]:
    """The loops that set what a product begins with, for all of a batch; none where it is added to what is there."""
    if product.accumulates:
        return []
    target, at = product.output.view.array, element(product.output, letters)
    body: Stmt = Assign(target, at, zero(type))
    if product.beta is not None and not is_number(product.beta, 0):
        body = Reduce(target, at, "mul", product.beta)
    for letter in reversed(product.output.letters):
        body = For(letters[letter], index(0), product.extents[letter], 1, Block((body,)))
    return [body]


def element(term: ProductOperand, letters: Mapping[str, str]) -> tuple[Expr, ...]:
    """The subscripts of an operand's element, with the loops that letters stand for."""
    out = list(term.view.start)
    for letter, step in zip(term.letters, term.view.steps, strict=True):
        for d, factor in enumerate(step):
            if factor:
                out[d] = add(out[d], mul(index(factor), Var(letters[letter], INDEX)))
    return tuple(out)
