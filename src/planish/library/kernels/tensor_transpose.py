"""Operations that permute the dimensions of a tensor, as loops over matrix transposes.

>>> from planish.ir.expr import index
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.ir.types import F32
>>> from planish.raising.operation import Operation
>>> from planish.raising.raised import whole
>>> nest = "for s in 0 .. p { for i in 0 .. m { for j in 0 .. n { B[s, j, i] = A[i, s, j] } } }"
>>> definition = parse_kernel(f"kernel turn(m, n, p; A: f64[m, p, n], B: f64[p, n, m]) {{ {nest} }}")
>>> arrays = {x: Array(x, F32, tuple(map(index, y))) for x, y in {"A": (20, 3, 30), "B": (3, 30, 20)}.items()}
>>> sizes = {"m": index(20), "n": index(30), "p": index(3)}
>>> step = Apply(Operation("turn", definition), {x: whole(y) for x, y in arrays.items()}, sizes)
>>> found = find_transposition(step, arrays, set())
>>> print(print_stmt(found.loop), end="")
for i in 0 .. 20 {
  for j in 0 .. 30 {
    B[s, j, i] = A[i, s, j]
  }
}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from planish.core.names import take_name
from planish.ir.expr import Expr, Load, index
from planish.ir.index.polynomial import constant
from planish.ir.nest import Array, Assign, Block, For
from planish.ir.types import Type
from planish.library.kernels.batched_gemm import NoMatricesError, element, stride
from planish.library.parallel.work_sharing import GRAIN, Range, share_out
from planish.raising.algebra.product import ProductOperand
from planish.raising.algebra.product_kinds import kind_of
from planish.raising.algebra.product_reader import read_product
from planish.raising.algebra.product_writer import origin_of, write_product
from planish.raising.raised import Apply, Repeat, Step

FEWEST = 8
"""A matrix of fewer rows or columns is no work for squares."""


@dataclass(frozen=True, slots=True)
class Transposition:
    """The loops over the rows and columns of what is read, whose rows are columns in what is written; `batch`: loops
    around them, and how often they run."""

    loop: For
    batch: Mapping[str, Expr]
    type: Type
    names: tuple[str, str]
    """The arrays: what is written, and what is read."""


def find_transposition(step: Apply, arrays: Mapping[str, Array], taken: set[str]) -> Transposition:
    """The transposition that an operation is, with names for its loops that are not taken; NoMatricesError where it is
    none that the library has."""
    output = arrays[step.operands[step.operation.output].array]
    product = read_product(step, output.type)
    if isinstance(product, str):
        raise NoMatricesError(product)
    # A view may be turned as well: whether neighbours stay neighbours is seen in the arrays.
    if kind_of(product) not in ("copy", "transpose") or product.alpha is not None:
        raise NoMatricesError("it does not only copy what is in another order")
    (source,) = product.factors
    if output.type != arrays[source.view.array].type:
        raise NoMatricesError("its elements are not copied as they are")
    near = [[y for y in x.letters if constant(stride(x, y, arrays)) == 1] for x in (source, product.output)]
    # In a window, there may be several.
    if not all(near) or set(near[0]) & set(near[1]):
        raise NoMatricesError("no neighbours of it become neighbours of another direction")
    (column, *_), (row, *_) = near
    if any((constant(product.extents[x]) or FEWEST) < FEWEST for x in (row, column)):
        raise NoMatricesError("it has few rows or columns")
    used = set(taken)
    letters = {x: take_name({row: "i", column: "j"}.get(x, "s"), used) for x in product.output.letters}
    value = Load(source.view.array, element(source, letters), output.type)
    body: Assign | For = Assign(output.name, element(product.output, letters), value)
    for letter in (column, row):
        body = For(letters[letter], index(0), product.extents[letter], 1, Block((body,)))
    assert isinstance(body, For)
    batch = {letters[x]: product.extents[x] for x in product.output.letters if x not in (row, column)}
    return Transposition(body, batch, output.type, (output.name, source.view.array))


def share_transposition(
    step: Apply, arrays: Mapping[str, Array], local: Collection[str], threads: int, taken: set[str]
) -> Repeat | None:
    """The same copy, of which each of several threads has a share of what lies farthest apart in the array that is
    `local`, or in what is written: what else is done there is shared out alike. None where all of it is little."""
    product = read_product(step, arrays[step.operands[step.operation.output].array].type)
    assert not isinstance(product, str)
    source, output = product.factors[0], product.output
    seen = source if source.view.array in local and output.view.array not in local else output
    far = min(seen.letters, key=lambda x: _order(seen, x))
    grain = GRAIN if far in (source.nearest + output.nearest) else 1

    def part(range: Range) -> tuple[Step, ...]:
        extents = {**product.extents, far: range[1]}
        own = [x.part(far, *range) for x in (output, source)]
        return (write_product(replace(product, output=own[0], factors=(own[1],), extents=extents), origin_of(step)),)

    cut = share_out((index(0), product.extents[far]), threads, taken, part, grain)[0]
    return cut if isinstance(cut, Repeat) else None


def _order(term: ProductOperand, letter: str) -> tuple[int, int]:
    """Less for letters whose neighbours lie farther apart."""
    step = term.view.steps[term.letters.index(letter)]
    first = next((n for n, x in enumerate(step) if x), len(step))
    return first, -abs(step[first]) if first < len(step) else 0
