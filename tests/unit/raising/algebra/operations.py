"""Operations whose definitions are written by hand, in several styles, and raised kernels made of them.

>>> step = apply(GEMM, {"C": matrix("X", 2, 4), "A": matrix("Y", 2, 3), "B": matrix("Z", 3, 4)})
>>> sorted((x, y.value) for x, y in step.sizes.items())
[('k', 3), ('m', 2), ('n', 4)]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planish.ir.expr import Const, Expr, Var, index
from planish.ir.nest import Array, Kernel, Scalar
from planish.ir.text.parser import parse_kernel
from planish.ir.types import F64, Type
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Raised, Step, View, whole


def operation(text: str, einsum: str = "") -> Operation:
    """An operation from the text of its definition."""
    kernel = parse_kernel(text)
    return Operation(kernel.name, kernel, einsum)


GEMM = operation("""kernel gemm(m, n, k; A: f64[m, k], B: f64[k, n], C: f64[m, n]) {
    for i in 0 .. m { for j in 0 .. n { C[i, j] = 0.0 for p in 0 .. k { C[i, j] += A[i, p] * B[p, j] } } }
}""", "ik,kj->ij")  # fmt: skip

GEMM_ADD = operation("""kernel gemm_add(m, n, k; alpha: f64; A: f64[m, k], B: f64[k, n], C: f64[m, n]) {
    for i in 0 .. m { for p in 0 .. k { for j in 0 .. n { C[i, j] += alpha * A[i, p] * B[p, j] } } }
}""", "ik,kj->ij")  # fmt: skip

GEMM_BETA = operation("""kernel gemm_beta(m, n, k; alpha: f64, beta: f64; A: f64[m, k], B: f64[k, n], C: f64[m, n]) {
    for i in 0 .. m { for j in 0 .. n { C[i, j] *= beta } }
    for i in 0 .. m { for p in 0 .. k { for j in 0 .. n { C[i, j] += alpha * (A[i, p] * B[p, j]) } } }
}""", "ik,kj->ij")  # fmt: skip

GEMM_TURNED = operation("""kernel gemm_turned(m, n, k; A: f64[k, m], B: f64[n, k], C: f64[m, n]) {
    for i in 0 .. m { for j in 0 .. n { C[i, j] = 0.0 } }
    for p in 0 .. k { for i in 0 .. m { for j in 0 .. n { C[i, j] += A[p, i] * B[j, p] } } }
}""", "ki,jk->ij")  # fmt: skip

GEMV = operation("""kernel gemv(m, k; A: f64[m, k], x: f64[k], y: f64[m]) {
    for i in 0 .. m { y[i] = 0.0 for p in 0 .. k { y[i] += A[i, p] * x[p] } }
}""", "ik,k->i")  # fmt: skip

GEMV_ADD = operation("""kernel gemv_add(m, k; A: f64[m, k], x: f64[k], y: f64[m]) {
    for p in 0 .. k { for i in 0 .. m { y[i] = y[i] + A[i, p] * x[p] } }
}""", "ik,k->i")  # fmt: skip

GER = operation("""kernel ger(m, n; x: f64[m], y: f64[n], A: f64[m, n]) {
    for i in 0 .. m { for j in 0 .. n { A[i, j] = x[i] * y[j] } }
}""", "i,j->ij")  # fmt: skip

TRANSPOSE = operation("""kernel transpose(m, n; A: f64[m, n], B: f64[n, m]) {
    for i in 0 .. m { for j in 0 .. n { B[j, i] = A[i, j] } }
}""", "ij->ji")  # fmt: skip

COPY = operation("""kernel copy(m, n; A: f64[m, n], B: f64[m, n]) {
    for i in 0 .. m { for j in 0 .. n { B[i, j] = A[i, j] } }
}""", "ij->ij")  # fmt: skip

SCALED_COPY = operation("""kernel scaled_copy(m, n; alpha: f64; A: f64[m, n], B: f64[m, n]) {
    for i in 0 .. m { for j in 0 .. n { B[i, j] = A[i, j] * alpha } }
}""", "ij->ij")  # fmt: skip

ADD = operation("""kernel add(m, n; A: f64[m, n], B: f64[m, n]) {
    for i in 0 .. m { for j in 0 .. n { B[i, j] += A[i, j] } }
}""", "ij->ij")  # fmt: skip

FILL = operation("""kernel fill(m, n; alpha: f64; A: f64[m, n]) {
    for i in 0 .. m { for j in 0 .. n { A[i, j] = alpha } }
}""")  # fmt: skip

ZERO = operation("""kernel zero(m, n; A: f64[m, n]) { for i in 0 .. m { for j in 0 .. n { A[i, j] = 0.0 } } }""")

DIAGONAL = operation("""kernel diagonal(m; x: f64[m]) { for i in 0 .. m { x[i] = 1.0 } }""")

SCALE = operation("""kernel scale(m, n; beta: f64; A: f64[m, n]) {
    for i in 0 .. m { for j in 0 .. n { A[i, j] = beta * A[i, j] } }
}""")  # fmt: skip

RELU = operation("""kernel relu(m, n; A: f64[m, n]) {
    for i in 0 .. m { for j in 0 .. n { A[i, j] = max(A[i, j], 0.0) } }
}""")  # fmt: skip

BIAS = operation("""kernel bias(m, n; A: f64[m, n], b: f64[n], D: f64[m, n]) {
    for i in 0 .. m { for j in 0 .. n { D[i, j] = max(A[i, j] + b[j], 0.0) } }
}""")  # fmt: skip

CUMULATE = operation("""kernel cumulate(m, n; A: f64[m, n]) {
    for i in 1 .. m { for j in 0 .. n { A[i, j] += A[i - 1, j] } }
}""")  # fmt: skip

CONV = operation("""kernel conv(p, q, r, s; I: f64[p + r - 1, q + s - 1], W: f64[r, s], O: f64[p, q]) {
    for i in 0 .. p { for j in 0 .. q { O[i, j] = 0.0 } }
    for i in 0 .. p { for j in 0 .. q { for a in 0 .. r { for b in 0 .. s { O[i, j] += I[i + a, j + b] * W[a, b] } } } }
}""")  # fmt: skip


def einsum(text: str, add: bool = False) -> Operation:
    """The contraction of that notation, over arrays A, B and C."""
    inputs, output = text.split("->")
    operands = dict(zip("ABDEF", inputs.split(","), strict=False))
    sums = [x for x in dict.fromkeys("".join(operands.values())) if x not in output]

    def subscripts(letters: str, prefix: str = "") -> str:
        return ", ".join(prefix + x for x in letters)

    letters = dict.fromkeys(text.replace(",", "").replace("->", ""))
    arrays = ", ".join(f"{x}: f64[{subscripts(y, 'n')}]" for x, y in {**operands, "C": output}.items())
    value = " * ".join(f"{x}[{subscripts(y)}]" for x, y in operands.items())
    place = f"C[{subscripts(output)}]"
    body = f"{place} += {value}"
    for x in reversed(sums):
        body = f"for {x} in 0 .. n{x} {{ {body} }}"
    if not add:
        body = f"{place} = 0.0 {body}"
    for x in reversed(output):
        body = f"for {x} in 0 .. n{x} {{ {body} }}"
    sizes = ", ".join(f"n{x}" for x in letters)
    return operation(f"kernel contraction({sizes}; {arrays}) {{ {body} }}", text)


def size(value: int | str) -> Expr:
    """A size or a number."""
    return index(value)


def matrix(name: str, *shape: int | str, type: Type = F64) -> Array:
    """An array of those extents."""
    return Array(name, type, tuple(size(x) for x in shape))


def turned(array: Array | View) -> View:
    """A matrix seen transposed."""
    view = array if isinstance(array, View) else whole(array)
    return View(view.array, view.start, view.steps[::-1], view.shape[::-1])


def apply(what: Operation, operands: Mapping[str, Array | View], **scalars: Any) -> Apply:
    """An operation on arrays or views; sizes follow from the shapes."""
    views = {x: y if isinstance(y, View) else whole(y) for x, y in operands.items()}
    sizes: dict[str, Expr] = {}
    for array in what.definition.arrays:
        for declared, extent in zip(array.shape, views[array.name].shape, strict=True):
            if isinstance(declared, Var):
                sizes[declared.name] = extent
    values = {x: Const(y, F64) if isinstance(y, float) else y for x, y in scalars.items()}
    return Apply(what, views, sizes, values)


def raised(
    arrays: list[Array], steps: list[Step], locals: list[Array] | None = None, scalars: tuple[str, ...] = ()
) -> Raised:
    """A kernel of steps; its sizes are those in the shapes."""
    every = [*arrays, *(locals or [])]
    names = dict.fromkeys(x.name for a in every for x in a.shape if isinstance(x, Var))
    kernel = Kernel("k", tuple(names), tuple(Scalar(x, F64) for x in scalars), tuple(arrays))
    return Raised(kernel, tuple(steps), tuple(locals or []))
