"""Product kinds: groups of letters, the order of operands, and the name.

>>> from planish.ir.expr import index
>>> from planish.raising.algebra.product import ProductOperand
>>> from planish.raising.raised import View
>>> n = index("n")
>>> square = lambda x: View(x, (index(0),) * 2, ((1, 0), (0, 1)), (n, n))
>>> A, B, C = (ProductOperand(square(x), y) for x, y in zip("ABC", ("ac", "bc", "ba")))
>>> product = arranged(Product(C, (A, B), {"a": n, "b": n, "c": n}, "c"))
>>> kind_of(product), product.einsum, [x.view.array for x in product.factors]
('gemm', 'bc,ca->ba', ['B', 'A'])
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain

from planish.raising.algebra.conv_window import is_windowed
from planish.raising.algebra.product import Product, is_number


@dataclass(frozen=True, slots=True)
class Groups:
    """The letters of two factors by where they stand: in all three operands, in the first, the second, or summed."""

    batch: str
    rows: str
    columns: str
    depth: str


def groups_of(product: Product) -> Groups | None:
    """The groups of a product of two factors; None where a letter stands in one operand only."""
    if len(product.factors) != 2:
        return None
    output, (first, second) = set(product.output.letters), (set(x.letters) for x in product.factors)
    groups = Groups(
        "".join(x for x in product.output.letters if x in first and x in second),
        "".join(x for x in product.output.letters if x in first and x not in second),
        "".join(x for x in product.output.letters if x not in first and x in second),
        "".join(x for x in product.sums if x in first and x in second),
    )
    found = set(groups.batch + groups.rows + groups.columns + groups.depth)
    return groups if found == output | first | second | set(product.sums) else None


def arranged(product: Product) -> Product:
    """The product with operands and dimensions in the order of its kind: rows before columns, batches first.

    Where the second factor has the first row of the output, the factors change places, unless that may round otherwise.
    """
    if len(product.factors) != 2:
        return product
    groups = groups_of(product)
    if groups is None:
        return product
    first = next((x for x in product.output.letters if x not in groups.batch), "")
    turned = (groups.columns and not groups.rows) or (first in groups.columns if first else False)
    if turned and (product.alpha is None or not product.exact):
        a, b = product.factors
        product = replace(product, factors=(b, a))
        groups = Groups(groups.batch, groups.columns, groups.rows, groups.depth)
    a, b = product.factors
    a = a.ordered(groups.batch + groups.rows + groups.depth)
    b = b.ordered(groups.batch + groups.depth + groups.columns)
    return replace(product, output=product.output.ordered(groups.batch + groups.rows + groups.columns), factors=(a, b))


def kind_of(product: Product) -> str:
    """The name of what a product is."""
    match product.factors:
        case ():
            if is_number(product.alpha, 0) and product.beta is not None:
                return "scale"
            return "fill" if product.beta is None and not product.sums else "add_scalar"
        case (only,):
            if product.sums or len(only.letters) != len(product.output.letters):
                return "reduction" if product.sums else "broadcast"
            kind = "copy" if only.letters == product.output.letters else "transpose"
            return kind if product.beta is None else "axpy" if kind == "copy" else "add_transpose"
        case (_, _):
            if any(is_windowed(x) for x in product.factors):
                return "convolution"
            groups = groups_of(product)
            if groups is None:
                return "product"
            if max(len(x) for x in (groups.rows, groups.columns, groups.depth)) > 1:
                return "contraction"
            return kind_of_matrices(bool(groups.rows), bool(groups.columns), bool(groups.depth), bool(groups.batch))
        case _:
            return "product"


def kind_of_matrices(rows: bool, columns: bool, depth: bool, batch: bool) -> str:
    """The name of a product of two operands that have rows, columns, a common dimension, and batches, or not."""
    match rows, columns, depth:
        case True, True, True:
            name = "gemm"
        case (True, False, True) | (False, True, True):
            name = "gemv"
        case True, True, False:
            name = "ger"
        case False, False, True:
            name = "dot"
        case _:
            return "multiply"
    return f"batched_{name}" if batch else name


def canonical_letters(product: Product) -> dict[str, str]:
    """Letters as books have them: rows from i, columns from j, sums from k, batches from b."""
    groups = groups_of(product)
    if groups is None:
        return _numbered(product.letters, "ijklmnopqrstuvwxyzabcdefgh")
    wanted = {**_first(groups.rows, "i"), **_first(groups.columns, "j"), **_first(groups.depth, "k")}
    wanted |= _first(groups.batch, "b")
    rest = "lmnopqrstuvwxyzacdefghLMNOPQRSTUVWXYZADEFGH"
    others = (x for x in product.letters if x not in wanted)
    return wanted | dict(zip(others, rest, strict=False))


def _first(group: str, letter: str) -> dict[str, str]:
    return {group[0]: letter} if group else {}


def _numbered(letters: str, names: Iterable[str]) -> dict[str, str]:
    return dict(zip(letters, chain(names, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), strict=False))
