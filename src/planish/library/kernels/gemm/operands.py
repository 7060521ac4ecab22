"""How the operands of a GEMM lie: A and B plain or transposed, each with its leading dimension.

>>> from planish.library.kernels.vectors import PRODUCTS
>>> operands = GemmOperands("nt")
>>> operands.declare(PRODUCTS["f32"]), operands.at_b
('A: f32[m, lda], B: f32[n, ldb]', 'j, p')
>>> spell_term(PRODUCTS["u8s8"], operands.at_a, operands.at_b)
'alpha * (i32(A[i, p]) * i32(B[j, p]))'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from planish.ir.types import Type
from planish.library.kernels.vectors import ProductTypes

Op = Literal["nn", "nt", "tn", "tt"]
"""Whether A, and whether B lies transposed."""
OPS: tuple[Op, ...] = get_args(Op)


@dataclass(frozen=True, slots=True)
class GemmOperands:
    """The operands of a product of m x k and k x n elements, in the language of nests."""

    op: Op = "nn"

    @property
    def transposed_a(self) -> bool:
        """Whether rows of A are columns of what lies in memory."""
        return self.op[0] == "t"

    @property
    def transposed_b(self) -> bool:
        """Whether rows of B are columns of what lies in memory."""
        return self.op[1] == "t"

    @property
    def at_a(self) -> str:
        """The subscripts of A's element in row i and column p."""
        return "p, i" if self.transposed_a else "i, p"

    @property
    def at_b(self) -> str:
        """The subscripts of B's element in row p and column j."""
        return "j, p" if self.transposed_b else "p, j"

    @property
    def known(self) -> tuple[str, str]:
        """That rows are no longer than the distance between them."""
        return "lda >= m" if self.transposed_a else "lda >= k", "ldb >= k" if self.transposed_b else "ldb >= n"

    @property
    def rows_a(self) -> str:
        """The number of rows of A in memory."""
        return "k" if self.transposed_a else "m"

    @property
    def rows_b(self) -> str:
        """The number of rows of B in memory."""
        return "n" if self.transposed_b else "k"

    @property
    def by_columns(self) -> GemmOperands:
        """The same operands as matrices of columns: what is a column of one is a row in memory."""
        other: dict[Op, Op] = {"nn": "tt", "nt": "tn", "tn": "nt", "tt": "nn"}
        return GemmOperands(other[self.op])

    def declare(self, product: ProductTypes) -> str:
        """The arrays A and B."""
        return f"A: {product.left}[{self.rows_a}, lda], B: {product.right}[{self.rows_b}, ldb]"

    def name(self, product: str) -> str:
        """What a product of such operands is called."""
        return product if self.op == "nn" else f"{product}_{self.op}"


def spell_term(product: ProductTypes, a: str, b: str, scaled: bool = True, exchanged: bool = False) -> str:
    """A B for one element, or alpha A B (`scaled`), the factors as wide as the sums; `a`, `b`: the subscripts of the
    elements. `exchanged`: B stands first."""
    t = product.sum

    def wide(value: str, type: Type) -> str:
        return value if type == t else f"{t}({value})"

    factors = [wide(f"A[{a}]", product.left), wide(f"B[{b}]", product.right)]
    term = " * ".join(reversed(factors) if exchanged else factors)
    if not scaled:
        return term
    return f"alpha * {term}" if product.left == t else f"alpha * ({term})"


def spell_number(number: int, product: ProductTypes) -> str:
    """A number as a value of the type of the sums."""
    return f"{number}{'.0' * product.sum.is_float}:{product.sum}"
