"""A raised kernel as lines of einsum: each product says which dimensions meet, and comments what the operands are.

>>> from planish.ir.expr import index
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.raising.operation import Operation
>>> from planish.raising.raised import Apply, whole
>>> text = "kernel gemv(m, n; A: f64[m, n], x: f64[n], y: f64[m]) "
>>> text += "{ for i in 0 .. m { for j in 0 .. n { y[i] += A[i, j] * x[j] } } }"
>>> gemv = Operation("gemv", parse_kernel(text))
>>> kernel = parse_kernel("kernel k(n; A: f64[n, n], x: f64[n], y: f64[n]) { }")
>>> step = Apply(gemv, {x.name: whole(x) for x in kernel.arrays}, {"m": index("n"), "n": index("n")})
>>> print(emit_einsum(Raised(kernel, (step,))).partition("\\n\\n\\n")[2], end="")
def k(n, A, x, y):
    # gemv
    #   A: A[0 + x0, 0 + x1 | x0 < n, x1 < n]
    #   x: x[0 + x0 | x0 < n]
    #   y: y[0 + x0 | x0 < n]
    #   m = n, n = n
    y += np.einsum("ij,j->i", A, x)
"""

from __future__ import annotations

from planish.emit.formats.numpy.numpy_text import emit_numpy
from planish.raising.raised import Raised


def emit_einsum(*kernels: Raised) -> str:
    """Functions as `emit_numpy` writes them, in which every product is an einsum; PlanishError E0841 for bf16."""
    return emit_numpy(*kernels, einsum=True)
