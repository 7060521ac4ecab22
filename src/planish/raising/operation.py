"""An operation: a name for a loop nest, which is its definition.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel dot(n; x: f64[n], y: f64[n], s: f64[]) { for i in 0 .. n { s[] += x[i] * y[i] } }"
>>> dot = Operation("dot", parse_kernel(text))
>>> dot.output, dot.inputs
('s', ('x', 'y'))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planish.ir.nest import Assign, Kernel, Reduce
from planish.ir.traverse import walk


@dataclass(frozen=True, slots=True)
class Operation:
    """What an operation computes: its definition, where f64 stands for the type of whatever elements there are.

    Each dimension of an operand has a size of its own or a constant extent; arrays that are written may be read, too.
    `einsum` is what the product of the inputs is in that notation ("ik,kj->ij"), "" where it is none.
    """

    name: str
    definition: Kernel
    einsum: str = ""

    @property
    def output(self) -> str:
        """The array that is written, the first where there are several."""
        return self.outputs[0]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The arrays that are written, in the order in which that begins."""
        return tuple(dict.fromkeys(self._written()))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The arrays that are only read, in the order in which they are declared."""
        written = self.outputs
        return tuple(x.name for x in self.definition.arrays if x.name not in written)

    def _written(self) -> Iterator[str]:
        own = {x.name for x in self.definition.arrays}
        return (x.array for x in walk(self.definition.body) if isinstance(x, Assign | Reduce) and x.array in own)
