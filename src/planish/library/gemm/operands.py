"""How the operands of a product lie: A and B as they are, or transposed, each with any distance between its rows.

>>> operands = Operands("nt")
>>> operands.declare("f32"), operands.at_b
('A: f32[m, lda], B: f32[n, ldb]', 'B[j, p]')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Op = Literal["nn", "nt", "tn", "tt"]
"""Whether A, and whether B lies transposed."""
OPS: tuple[Op, ...] = get_args(Op)


@dataclass(frozen=True, slots=True)
class Operands:
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
        """The element of A in row i and column p."""
        return "A[p, i]" if self.transposed_a else "A[i, p]"

    @property
    def at_b(self) -> str:
        """The element of B in row p and column j."""
        return "B[j, p]" if self.transposed_b else "B[p, j]"

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
    def by_columns(self) -> Operands:
        """The same operands as matrices of columns: what is a column of one is a row in memory."""
        other: dict[Op, Op] = {"nn": "tt", "nt": "tn", "tn": "nt", "tt": "nn"}
        return Operands(other[self.op])

    def declare(self, element: str) -> str:
        """The arrays A and B."""
        return f"A: {element}[{self.rows_a}, lda], B: {element}[{self.rows_b}, ldb]"

    def name(self, product: str) -> str:
        """What a product of such operands is called."""
        return product if self.op == "nn" else f"{product}_{self.op}"
