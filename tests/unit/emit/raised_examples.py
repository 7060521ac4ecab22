"""Kernels that are raised by hand: the loops as somebody would write them, and the operations that they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planish.core.span import Span
from planish.ir.expr import Compare, Const, Expr, index
from planish.ir.index.evaluate import evaluate
from planish.ir.index.polynomial import mul
from planish.ir.nest import Array, Block, For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.operator_names import TypeScope
from planish.ir.text.parser import parse_expr, parse_kernel
from planish.ir.types import BOOL, F64, Type
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Case, Choice, Loops, Raised, Repeat, Reshape, View, whole

DEFINITIONS = {
    "gemm": "kernel gemm(m, n, k; alpha: f64, beta: f64; A: f64[m, k], B: f64[k, n], C: f64[m, n]) {"
    " for i in 0 .. m { for j in 0 .. n { C[i, j] *= beta"
    " for l in 0 .. k { C[i, j] += alpha * A[i, l] * B[l, j] } } } }",
    "matmul": "kernel matmul(m, n, k; A: f64[m, k], B: f64[k, n], C: f64[m, n]) {"
    " for i in 0 .. m { for j in 0 .. n { for l in 0 .. k { C[i, j] += A[i, l] * B[l, j] } } } }",
    "product": "kernel product(m, n, k; alpha: f64; A: f64[m, k], B: f64[k, n], C: f64[m, n]) {"
    " for i in 0 .. m { for j in 0 .. n { C[i, j] = 0.0"
    " for l in 0 .. k { C[i, j] += alpha * A[i, l] * B[l, j] } } } }",
    "gemv": "kernel gemv(m, n; A: f64[m, n], x: f64[n], y: f64[m]) {"
    " for i in 0 .. m { for j in 0 .. n { y[i] += A[i, j] * x[j] } } }",
    "ger": "kernel ger(m, n; x: f64[m], y: f64[n], A: f64[m, n]) {"
    " for i in 0 .. m { for j in 0 .. n { A[i, j] += x[i] * y[j] } } }",
    "dot": "kernel dot(n; x: f64[n], y: f64[n], s: f64[]) { for i in 0 .. n { s[] += x[i] * y[i] } }",
    "axpy": "kernel axpy(n; a: f64; x: f64[n], y: f64[n]) { for i in 0 .. n { y[i] += a * x[i] } }",
    "scal": "kernel scal(n; a: f64; x: f64[n]) { for i in 0 .. n { x[i] *= a } }",
    "copy": "kernel copy(n; x: f64[n], y: f64[n]) { for i in 0 .. n { y[i] = x[i] } }",
    "zero": "kernel zero(m, n; A: f64[m, n]) { for i in 0 .. m { for j in 0 .. n { A[i, j] = 0.0 } } }",
    "sum_of": "kernel sum_of(m, n; A: f64[m, n], B: f64[m, n]) {"
    " for i in 0 .. m { for j in 0 .. n { B[i, j] += A[i, j] } } }",
    "transpose": "kernel transpose(m, n; A: f64[m, n], B: f64[n, m]) {"
    " for i in 0 .. n { for j in 0 .. m { B[i, j] = A[j, i] } } }",
    "nrm2": "kernel nrm2(n; x: f64[n], s: f64[]) {"
    " s[] = 0.0 for i in 0 .. n { s[] += x[i] * x[i] } s[] = sqrt(s[]) }",
    "asum": "kernel asum(n; x: f64[n], s: f64[]) { s[] = 0.0 for i in 0 .. n { s[] += fabs(x[i]) } }",
    "sum": "kernel sum(m, n; A: f64[m, n], y: f64[n]) { for i in 0 .. m { for j in 0 .. n { y[j] += A[i, j] } } }",
    "relu": "kernel relu(m, n; A: f64[m, n]) {"
    " for i in 0 .. m { for j in 0 .. n { A[i, j] = select(A[i, j] > 0.0, A[i, j], 0.0) } } }",
    "maxpool": "kernel maxpool(n, w; X: f64[n, w], Y: f64[n]) {"
    " for i in 0 .. n { for r in 0 .. w { Y[i] max= X[i, r] } } }",
    "minplus": "kernel minplus(m, n, k; A: f64[m, k], B: f64[k, n], C: f64[m, n]) {"
    " for i in 0 .. m { for j in 0 .. n { for l in 0 .. k { C[i, j] min= A[i, l] + B[l, j] } } } }",
    "conv2d": "kernel conv2d(b, f, c, h, w, p, q; I: f64[b, c, h, w, p, q], K: f64[f, c, p, q], O: f64[b, f, h, w]) {"
    " for n in 0 .. b { for g in 0 .. f { for y in 0 .. h { for x in 0 .. w {"
    " for d in 0 .. c { for r in 0 .. p { for s in 0 .. q {"
    " O[n, g, y, x] += I[n, d, y, x, r, s] * K[g, d, r, s] } } } } } } } }",
    "ab-acd-dbc": "kernel contraction(a, b, c, d; A: f64[a, c, d], B: f64[d, b, c], C: f64[a, b]) {"
    " for i in 0 .. a { for j in 0 .. b { for k in 0 .. c { for l in 0 .. d {"
    " C[i, j] += A[i, k, l] * B[l, j, k] } } } } }",
    "batched": "kernel batched(b, m, n, k; A: f64[b, m, k], B: f64[b, k, n], C: f64[b, m, n]) {"
    " for p in 0 .. b { for i in 0 .. m { for j in 0 .. n { for l in 0 .. k {"
    " C[p, i, j] += A[p, i, l] * B[p, l, j] } } } } }",
    "symm": "kernel symm(m, n; alpha: f64, beta: f64; A: f64[m, m], B: f64[m, n], C: f64[m, n]) {"
    " for i in 0 .. m { for j in 0 .. n { C[i, j] *= beta"
    " for k in 0 .. i + 1 { C[i, j] += alpha * A[i, k] * B[k, j] }"
    " for k in i + 1 .. m { C[i, j] += alpha * A[k, i] * B[k, j] } } } }",
    "syrk": "kernel syrk(n, k; alpha: f64, beta: f64; A: f64[n, k], C: f64[n, n]) {"
    " for i in 0 .. n { for j in 0 .. i + 1 { C[i, j] *= beta"
    " for l in 0 .. k { C[i, j] += alpha * A[i, l] * A[j, l] } } } }",
    "syr2k": "kernel syr2k(n, k; alpha: f64, beta: f64; A: f64[n, k], B: f64[n, k], C: f64[n, n]) {"
    " for i in 0 .. n { for j in 0 .. i + 1 { C[i, j] *= beta"
    " for l in 0 .. k { C[i, j] += alpha * A[j, l] * B[i, l] + alpha * B[j, l] * A[i, l] } } } }",
    "trmm": "kernel trmm(m, n; alpha: f64; A: f64[m, m], B: f64[m, n]) {"
    " for i in 0 .. m { for j in 0 .. n {"
    " for k in i + 1 .. m { B[i, j] += A[k, i] * B[k, j] } B[i, j] = alpha * B[i, j] } } }",
    "trsm": "kernel trsm(m, n; A: f64[m, m], B: f64[m, n]) {"
    " for i in 0 .. m { for j in 0 .. n {"
    " for k in 0 .. i { B[i, j] -= A[i, k] * B[k, j] } B[i, j] = B[i, j] / A[i, i] } } }",
}  # fmt: skip


def operation(name: str) -> Operation:
    """One of the operations above."""
    return Operation(name, parse_kernel(DEFINITIONS[name].replace("] -= ", "] += -")))


@dataclass(frozen=True, slots=True)
class Example:
    """A raised kernel, and the sizes to run it with."""

    name: str
    raised: Raised
    sizes: tuple[Mapping[str, int], ...]


def numbers(kernel: Kernel, sizes: Mapping[str, int], seed: int = 1) -> dict[str, Any]:
    """Values for every parameter."""
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = dict(sizes)
    for scalar in kernel.scalars:
        values[scalar.name] = _numbers(rng, (), scalar.type).item()
    for array in kernel.arrays:
        shape = tuple(evaluate(x, sizes) for x in array.shape if x is not None)
        values[array.name] = _numbers(rng, shape, array.type)
    return values


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], type: Type) -> np.ndarray[Any, Any]:
    if type.is_float:
        return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape), type.numpy)
    return np.asarray(rng.integers(-99 if type.kind == "int" else 0, 100, shape), type.numpy)


def copied(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with arrays of their own."""
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in values.items()}


def meant(kernel: Kernel, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the loops as they were written leave."""
    out = copied(values)
    run_kernel(kernel, out)
    return out


def check_close(kernel: Kernel, found: Mapping[str, Any], wanted: Mapping[str, Any], what: str = "") -> None:
    """That arrays are equal, floats up to the order of sums."""
    for array in kernel.arrays:
        tolerance = {"float64": 1e-11, "float32": 1e-4}.get(array.type.numpy, 0)
        np.testing.assert_allclose(
            found[array.name], wanted[array.name], rtol=tolerance, atol=tolerance, err_msg=f"{what} {array.name}"
        )


def example(name: str, text: str, steps: Sequence[Any], sizes: Sequence[Mapping[str, int]]) -> Example:
    """A kernel with steps: `(operation, {operand: view}, {size: text}, {scalar: text})`, or the number of a statement
    of the kernel that stays as it is."""
    kernel = parse_kernel(text, f"{name}.k")
    scope = TypeScope()
    for size in kernel.sizes:
        scope = scope.with_value(size, parse_expr("0").type)
    for scalar in kernel.scalars:
        scope = scope.with_value(scalar.name, scalar.type)
    for array in kernel.arrays:
        scope = scope.with_array(array.name, array.type)

    def expr(x: str) -> Expr:
        return parse_expr(x, scope)

    made: list[Apply | Loops] = []
    for step in steps:
        if isinstance(step, int):
            made.append(Loops(Block((kernel.body.body[step],)), {f"S{step}": "it is not what any operation computes"}))
            continue
        called, views, lengths, *rest = step
        operands = {}
        for key, view in views.items():
            if isinstance(view, str):
                operands[key] = whole(kernel.array(view))
            else:
                array, start, moves, shape = view
                operands[key] = View(array, tuple(map(expr, start)), moves, tuple(map(expr, shape)))
        scalars = {k: expr(v) for k, v in (rest[0] if rest else {}).items()}
        span = Span(f"{name}.k", 3, 1, 3, 9)
        sizes_of = {k: expr(v) for k, v in lengths.items()}
        made.append(Apply(operation(called), operands, sizes_of, scalars, (), (f"S{len(made)}",), span))
    return Example(name, Raised(kernel, tuple(made)), tuple(sizes))


def chosen_order() -> Example:
    """A product of three matrices in the order that is cheaper; each order has an array of its own."""
    text = """kernel chosen_order(m, n, k; A: f64[m, k], B: f64[k, n], C: f64[n, k], D: f64[m, k]) {
      alloc T: f64[m, n]
      for i in 0 .. m { for j in 0 .. n { T[i, j] = 0.0 for l in 0 .. k { T[i, j] += A[i, l] * B[l, j] } } }
      for i in 0 .. m { for j in 0 .. k { for l in 0 .. n { D[i, j] += T[i, l] * C[l, j] } } }
    }"""
    kernel = parse_kernel(text)
    m, n, k = map(index, "mnk")
    first, second = Array("first", F64, (m, n)), Array("second", F64, (k, k))
    A, B, C, D = (whole(x) for x in kernel.arrays)

    def product(name: str, operands: Sequence[View], m: Expr, n: Expr, k: Expr) -> Apply:
        scalars = {"alpha": Const(1.0, F64)} if name == "product" else {}
        return Apply(operation(name), dict(zip("ABC", operands, strict=True)), {"m": m, "n": n, "k": k}, scalars)

    left = (product("product", (A, B, whole(first)), m, n, k), product("matmul", (whole(first), C, D), m, k, n))
    right = (product("product", (B, C, whole(second)), k, k, n), product("matmul", (A, whole(second), D), m, k, k))
    cases = Case(Compare("le", m, k), left, (first,)), Case(Const(True, BOOL), right, (second,))
    sizes = ({"m": 4, "n": 5, "k": 3}, {"m": 2, "n": 3, "k": 4}, {"m": 0, "n": 2, "k": 2}, {"m": 2, "n": 1, "k": 0})
    return Example("chosen_order", Raised(kernel, (Choice(cases),)), sizes)


def other_shape() -> Example:
    """A vector whose memory is a matrix."""
    text = """kernel other_shape(m, n; A: f64[m, n], x: f64[n], y: f64[m]) {
      alloc t: f64[m * n]
      for i in 0 .. m { for j in 0 .. n { t[i * n + j] = A[i, j] } }
      for i in 0 .. m { for j in 0 .. n { y[i] += t[i * n + j] * x[j] } }
    }"""
    kernel = parse_kernel(text)
    m, n = index("m"), index("n")
    memory, seen = Array("t", F64, (mul(m, n),)), Array("seen", F64, (m, n))
    A, x, y = (whole(x) for x in kernel.arrays)
    zero = Apply(operation("zero"), {"A": whole(seen)}, {"m": m, "n": n})
    fill = Apply(operation("sum_of"), {"A": A, "B": whole(seen)}, {"m": m, "n": n})
    gemv = Apply(operation("gemv"), {"A": whole(seen), "x": x, "y": y}, {"m": m, "n": n})
    sizes = ({"m": 4, "n": 5}, {"m": 1, "n": 3}, {"m": 0, "n": 3}, {"m": 3, "n": 0})
    return Example("other_shape", Raised(kernel, (zero, fill, gemv), (memory,), (Reshape(seen, "t"),)), sizes)


def make_examples() -> list[Example]:
    """All of them."""
    small = ({"n": 0}, {"n": 1}, {"n": 5})
    three = [{"m": 4, "n": 5, "k": 3}, {"m": 1, "n": 1, "k": 1}, {"m": 3, "n": 2, "k": 0}, {"m": 0, "n": 2, "k": 2}]
    two = [{"m": 4, "n": 5}, {"m": 5, "n": 3}, {"m": 1, "n": 1}, {"m": 0, "n": 3}]
    mnk = {"m": "m", "n": "n", "k": "k"}
    mn = {"m": "m", "n": "n"}
    ab = {"alpha": "alpha", "beta": "beta"}
    turned = ((0, 1), (1, 0))
    out = [
        example(
            "gemm",
            "kernel gemm(m, n, k; alpha: f32, beta: f32; A: f32[m, k], B: f32[k, n], C: f32[m, n]) {"
            " for i in 0 .. m { for j in 0 .. n { C[i, j] *= beta }"
            " for l in 0 .. k { for j in 0 .. n { C[i, j] += alpha * A[i, l] * B[l, j] } } } }",
            [("gemm", {"A": "A", "B": "B", "C": "C"}, mnk, ab)],
            three,
        ),
        example(
            "gemm_tt",
            "kernel gemm_tt(m, n, k; alpha: f64, beta: f64; A: f64[k, m], B: f64[n, k], C: f64[m, n]) {"
            " for i in 0 .. m { for j in 0 .. n { C[i, j] = C[i, j] * (1.0 - beta)"
            " for l in 0 .. k { C[i, j] += A[l, i] * B[j, l] * (alpha * 2.0) } } } }",
            [("gemm", {"A": ("A", ("0", "0"), turned, ("m", "k")), "B": ("B", ("0", "0"), turned, ("k", "n")),
                       "C": "C"}, mnk, {"alpha": "alpha * 2.0", "beta": "1.0 - beta"})],
            three,
        ),
        example(
            "gemm_into_columns",
            "kernel gemm_into_columns(m, n, k; A: f64[m, k], B: f64[k, n], C: f64[n, m]) {"
            " for i in 0 .. m { for j in 0 .. n { for l in 0 .. k { C[j, i] += A[i, l] * B[l, j] } } } }",
            [("matmul", {"A": "A", "B": "B", "C": ("C", ("0", "0"), turned, ("m", "n"))}, mnk)],
            three,
        ),
        example(
            "two_products",
            "kernel two_products(m, n, k; alpha: f64, beta: f64; A: f64[m, k], B: f64[k, n], C: f64[n, k],"
            " T: f64[m, n], D: f64[m, k]) {"
            " for i in 0 .. m { for j in 0 .. n { T[i, j] = 0.0"
            " for l in 0 .. k { T[i, j] += alpha * A[i, l] * B[l, j] } } }"
            " for i in 0 .. m { for j in 0 .. k { D[i, j] *= beta"
            " for l in 0 .. n { D[i, j] += T[i, l] * C[l, j] } } } }",
            [("product", {"A": "A", "B": "B", "C": "T"}, mnk, {"alpha": "alpha"}),
             ("gemm", {"A": "T", "B": "C", "C": "D"}, {"m": "m", "n": "k", "k": "n"},
              {"alpha": "1.0", "beta": "beta"})],
            three,
        ),
        example(
            "part_of_a_product",
            "kernel part_of_a_product(n; A: f64[n + 3, n + 4], B: f64[2 * n + 1, n + 2], C: f64[n + 2, n + 5]) {"
            " for i in 0 .. n { for j in 0 .. n { for l in 0 .. n {"
            " C[i + 1, j + 2] += A[i + 3, l + 1] * B[2 * l + 1, j + 1] } } } }",
            [("matmul", {"A": ("A", ("3", "1"), ((1, 0), (0, 1)), ("n", "n")),
                         "B": ("B", ("1", "1"), ((2, 0), (0, 1)), ("n", "n")),
                         "C": ("C", ("1", "2"), ((1, 0), (0, 1)), ("n", "n"))},
              {"m": "n", "n": "n", "k": "n"})],
            small,
        ),
        example(
            "gemv_transposed",
            "kernel gemv_transposed(m, n; A: f64[m, n], x: f64[m], y: f64[n]) {"
            " for j in 0 .. m { for i in 0 .. n { y[i] += A[j, i] * x[j] } } }",
            [("gemv", {"A": ("A", ("0", "0"), turned, ("n", "m")), "x": "x", "y": "y"}, {"m": "n", "n": "m"})],
            two,
        ),
        example(
            "outer",
            "kernel outer(m, n; x: f64[n, 2], y: f64[n], A: f64[m, n, n]) assume m >= 2 {"
            " for i in 0 .. n { for j in 0 .. n { A[1, i, j] += x[i, 1] * y[n - 1 - j] } } }",
            [("ger", {"x": ("x", ("0", "1"), ((1, 0),), ("n",)), "y": ("y", ("n - 1",), ((-1,),), ("n",)),
                      "A": ("A", ("1", "0", "0"), ((0, 1, 0), (0, 0, 1)), ("n", "n"))}, {"m": "n", "n": "n"})],
            [{"m": 2, "n": 4}, {"m": 3, "n": 1}, {"m": 2, "n": 0}],
        ),
        example(
            "dots",
            "kernel dots(n; x: f64[2 * n + 1], y: f64[3 * n], r: f64[2]) {"
            " for i in 0 .. n { r[1] += x[2 * i + 1] * y[3 * n - 1 - 3 * i] } }",
            [("dot", {"x": ("x", ("1",), ((2,),), ("n",)), "y": ("y", ("3 * n - 1",), ((-3,),), ("n",)),
                      "s": ("r", ("1",), (), ())}, {"n": "n"})],
            small,
        ),
        example(
            "level_one",
            "kernel level_one(n; a: f64; x: f64[n], y: f64[2 * n], z: f64[n], s: f64[], t: f64[]) {"
            " for i in 0 .. n { y[2 * i] += a * x[n - 1 - i] }"
            " for i in 0 .. n { y[i] *= a + 1.0 }"
            " for i in 0 .. n { z[i] = y[2 * n - 1 - 2 * i] }"
            " { s[] = 0.0 for i in 0 .. n { s[] += z[i] * z[i] } s[] = sqrt(s[]) }"
            " { t[] = 0.0 for i in 0 .. n { t[] += fabs(z[i]) } } }",
            [("axpy", {"x": ("x", ("n - 1",), ((-1,),), ("n",)), "y": ("y", ("0",), ((2,),), ("n",))}, {"n": "n"},
              {"a": "a"}),
             ("scal", {"x": ("y", ("0",), ((1,),), ("n",))}, {"n": "n"}, {"a": "a + 1.0"}),
             ("copy", {"x": ("y", ("2 * n - 1",), ((-2,),), ("n",)), "y": "z"}, {"n": "n"}),
             ("nrm2", {"x": "z", "s": "s"}, {"n": "n"}), ("asum", {"x": "z", "s": "t"}, {"n": "n"})],
            small,
        ),
        example(
            "elementwise",
            "kernel elementwise(m, n; A: f32[m, n], B: f32[n, m], y: f32[n]) {"
            " for i in 0 .. m { for j in 0 .. n { A[i, j] = select(A[i, j] > 0.0:f32, A[i, j], 0.0:f32) } }"
            " for i in 0 .. n { for j in 0 .. m { B[i, j] = A[j, i] } }"
            " for i in 0 .. m { for j in 0 .. n { y[j] += A[i, j] } } }",
            [("relu", {"A": "A"}, mn), ("transpose", {"A": "A", "B": "B"}, mn), ("sum", {"A": "A", "y": "y"}, mn)],
            two,
        ),
        example(
            "integers",
            "kernel integers(m, n, k; A: i32[m, k], B: i32[k, n], C: i32[m, n]) {"
            " for i in 0 .. m { for j in 0 .. n { for l in 0 .. k { C[i, j] += A[i, l] * B[l, j] } } } }",
            [("matmul", {"A": "A", "B": "B", "C": "C"}, mnk)],
            three,
        ),
        example(
            "shortest",
            "kernel shortest(m, n, k; A: f64[m, k], B: f64[k, n], C: f64[m, n]) {"
            " for i in 0 .. m { for j in 0 .. n { for l in 0 .. k { C[i, j] min= A[i, l] + B[l, j] } } } }",
            [("minplus", {"A": "A", "B": "B", "C": "C"}, mnk)],
            three,
        ),
        example(
            "pooled",
            "kernel pooled(n; X: f64[2 * n + 1], Y: f64[n]) {"
            " for i in 0 .. n { for r in 0 .. 3 { Y[i] max= X[2 * i + r] } } }",
            [("maxpool", {"X": ("X", ("0",), ((2,), (1,)), ("n", "3")), "Y": "Y"}, {"n": "n", "w": "3"})],
            small,
        ),
        example(
            "convolution",
            "kernel convolution(n, c, f; I: f32[2, c, n + 2, 2 * n + 3], K: f32[f, c, 3, 2], O: f32[2, f, n, n]) {"
            " for b in 0 .. 2 { for g in 0 .. f { for y in 0 .. n { for x in 0 .. n {"
            " for d in 0 .. c { for r in 0 .. 3 { for s in 0 .. 2 {"
            " O[b, g, y, x] += I[b, d, y + r, 2 * x + 3 * s] * K[g, d, r, s] } } } } } } } }",
            [("conv2d",
              {"I": ("I", ("0",) * 4,
                     ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 2), (0, 0, 1, 0), (0, 0, 0, 3)),
                     ("2", "c", "n", "n", "3", "2")), "K": "K", "O": "O"},
              {"b": "2", "f": "f", "c": "c", "h": "n", "w": "n", "p": "3", "q": "2"})],
            [{"n": 4, "c": 3, "f": 2}, {"n": 1, "c": 1, "f": 1}, {"n": 0, "c": 1, "f": 1}],
        ),
        example(
            "convolution_of_known_size",
            "kernel convolution_of_known_size(I: f32[1, 2, 8, 9], K: f32[3, 2, 3, 3], O: f32[1, 3, 3, 7]) {"
            " for g in 0 .. 3 { for y in 0 .. 3 { for x in 0 .. 7 {"
            " for d in 0 .. 2 { for r in 0 .. 3 { for s in 0 .. 3 {"
            " O[0, g, y, x] += I[0, d, 2 * y + r, x + s] * K[g, d, r, s] } } } } } } }",
            [("conv2d",
              {"I": ("I", ("0",) * 4,
                     ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 2, 0), (0, 0, 0, 1), (0, 0, 1, 0), (0, 0, 0, 1)),
                     ("1", "2", "3", "7", "3", "3")), "K": "K", "O": "O"},
              {"b": "1", "f": "3", "c": "2", "h": "3", "w": "7", "p": "3", "q": "3"})],
            [{}],
        ),
        example(
            "contraction",
            "kernel contraction(m, n, k; A: f64[m, k, 3], B: f64[3, n, k], C: f64[m, n]) {"
            " for i in 0 .. m { for j in 0 .. n { for l in 0 .. k { for d in 0 .. 3 {"
            " C[i, j] += A[i, l, d] * B[d, j, l] } } } } }",
            [("ab-acd-dbc", {"A": "A", "B": "B", "C": "C"}, {"a": "m", "b": "n", "c": "k", "d": "3"})],
            three,
        ),
        example(
            "batches",
            "kernel batches(m, n, k; A: f64[4, m, k], B: f64[4, k, n], C: f64[4, m, n]) {"
            " for b in 0 .. 4 { for i in 0 .. m { for j in 0 .. n { for l in 0 .. k {"
            " C[b, i, j] += A[b, i, l] * B[b, l, j] } } } } }",
            [("batched", {"A": "A", "B": "B", "C": "C"}, {"b": "4", **mnk})],
            three,
        ),
        example(
            "diagonal",
            "kernel diagonal(n; a: f64; A: f64[n, n], y: f64[n]) { for i in 0 .. n { y[i] += a * A[i, i] } }",
            [("axpy", {"x": ("A", ("0", "0"), ((1, 1),), ("n",)), "y": "y"}, {"n": "n"}, {"a": "a"})],
            small,
        ),
        example(
            "symmetric",
            "kernel symmetric(m, n; alpha: f64, beta: f64; A: f64[m, m], B: f64[m, n], C: f64[m, n]) {"
            " for i in 0 .. m { for j in 0 .. n { C[i, j] *= beta"
            " for k in 0 .. m { if k <= i { C[i, j] += alpha * A[i, k] * B[k, j] }"
            " else { C[i, j] += alpha * A[k, i] * B[k, j] } } } } }",
            [("symm", {"A": "A", "B": "B", "C": "C"}, mn, ab)],
            two,
        ),
        example(
            "updates",
            "kernel updates(n, k; alpha: f64, beta: f64; A: f64[n, k], B: f64[n, k], C: f64[n, n], D: f64[n, n]) {"
            " for i in 0 .. n { for j in 0 .. i + 1 { C[i, j] *= beta }"
            " for l in 0 .. k { for j in 0 .. i + 1 { C[i, j] += alpha * A[i, l] * A[j, l] } } }"
            " for i in 0 .. n { for j in 0 .. i + 1 { D[i, j] *= beta"
            " for l in 0 .. k { D[i, j] += alpha * A[j, l] * B[i, l] + alpha * B[j, l] * A[i, l] } } } }",
            [("syrk", {"A": "A", "C": "C"}, {"n": "n", "k": "k"}, ab),
             ("syr2k", {"A": "A", "B": "B", "C": "D"}, {"n": "n", "k": "k"}, ab)],
            [{"n": 5, "k": 3}, {"n": 1, "k": 0}, {"n": 0, "k": 2}],
        ),
        example(
            "triangular",
            "kernel triangular(m, n; alpha: f64; A: f64[m, m], B: f64[m, n], D: f64[m, n]) {"
            " for i in 0 .. m { for j in 0 .. n {"
            " for k in i + 1 .. m { B[i, j] += A[k, i] * B[k, j] } B[i, j] *= alpha } }"
            " for i in 0 .. m { for j in 0 .. n {"
            " for k in 0 .. i { D[i, j] = D[i, j] - A[i, k] * D[k, j] } D[i, j] = D[i, j] / A[i, i] } } }",
            [("trmm", {"A": "A", "B": "B"}, mn, {"alpha": "alpha"}), ("trsm", {"A": "A", "B": "D"}, mn)],
            two,
        ),
        example(
            "loops_between",
            "kernel loops_between(n; A: f64[n, n], B: f64[n, n], C: f64[n, n], lambda: f64[n], h: i32[8], v: i32[n]) {"
            " for i in 0 .. n { for j in 0 .. n { C[i, j] = 0.0 for k in 0 .. n { C[i, j] += A[i, k] * B[k, j] } } }"
            " for i in 1 .. n { if lambda[i] > 0.0 { lambda[i] += lambda[i - 1] * 0.5 }"
            " else { lambda[i] = fmax(lambda[i - 1], C[i, n - i]) } }"
            " for i in 0 .. n { h[i64(v[i]) % 8] += 1:i32 }"
            " for i in 0 .. n { for j in 0 .. n { A[i, j] += lambda[i] * lambda[j] } } }",
            [("product", {"A": "A", "B": "B", "C": "C"}, {"m": "n", "n": "n", "k": "n"}, {"alpha": "1.0"}), 1, 2,
             ("ger", {"A": "A", "x": "lambda", "y": "lambda"}, {"m": "n", "n": "n"})],
            small,
        ),
        example(
            "overlapping",
            "kernel overlapping(n; A: f64[2 * n, n], B: f64[n, n], x: f64[n + 1]) {"
            " for i in 0 .. n { for j in 0 .. n { for k in 0 .. n { A[i, j] += A[n + i, k] * B[k, j] } } }"
            " for i in 0 .. n { x[i + 1] += x[i] * 0.5 } }",
            [("matmul", {"A": ("A", ("n", "0"), ((1, 0), (0, 1)), ("n", "n")), "B": "B",
                         "C": ("A", ("0", "0"), ((1, 0), (0, 1)), ("n", "n"))}, {"m": "n", "n": "n", "k": "n"}),
             ("axpy", {"x": ("x", ("0",), ((1,),), ("n",)), "y": ("x", ("1",), ((1,),), ("n",))}, {"n": "n"},
              {"a": "0.5"})],
            small,
        ),
    ]  # fmt: skip
    return [*out, repeated_example(), chosen_order(), other_shape()]


def repeated_example() -> Example:
    """Operations and a statement without a name, once for each iteration of a loop."""
    made = example(
        "forward",
        "kernel forward(n; A: f64[n, n], x: f64[n], s: f64[]) {"
        " for t in 1 .. n { for j in 0 .. t { x[t] += A[t, j] * x[j] }"
        " if x[t] > 4.0 { x[t] = x[t] * 0.25 }"
        " for j in 0 .. t { s[] += x[j] * A[j, t] } } }",
        [], ({"n": 1}, {"n": 2}, {"n": 6}),
    )  # fmt: skip
    kernel = made.raised.kernel
    (loop,) = kernel.body.body
    assert isinstance(loop, For)
    t, zero = index("t"), index(0)
    row, column = View("A", (t, zero), ((0, 1),), (t,)), View("A", (zero, t), ((1, 0),), (t,))
    x = View("x", (zero,), ((1,),), (t,))
    first = Apply(operation("dot"), {"x": row, "y": x, "s": View("x", (t,), (), ())}, {"n": t})
    last = Apply(operation("dot"), {"x": x, "y": column, "s": View("s", (), (), ())}, {"n": t})
    middle = Loops(Block((loop.body.body[1],)), {"S1": "it is a choice"})
    steps = (Repeat("t", index(1), index("n"), 1, (first, middle, last)),)
    return Example(made.name, replace(made.raised, steps=steps), made.sizes)


EXAMPLES = make_examples()
