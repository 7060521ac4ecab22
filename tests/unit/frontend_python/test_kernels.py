"""Kernels written in Python run through the interpreter as Python runs them over NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from planish.frontend.python.annotations import f32, f64, i8, i32, i64, size, sizes, u8
from planish.frontend.python.reader import read_python
from planish.frontend.python.signature import bind_call
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel

n, m, k, h, w = sizes("n m k h w")
TAPS = 3


def gemm(n: size, m: size, k: size, alpha: f32, A: f32[n, k], B: f32[k, m], C: f32[n, m]) -> None:
    for i in range(n):
        for j in range(m):
            C[i, j] *= 0.5
            for p in range(k):
                C[i, j] += alpha * A[i, p] * B[p, j]


def dot_rows(A: f32[n, m], B: f32[k, m], C: f32[n, k]) -> None:
    for i in range(A.shape[0]):
        for j in range(len(B)):
            acc = 0.0
            for p in range(A.shape[1]):
                acc += A[i][p] * B[j][p]
            C[i][j] = acc


def conv1d(x: f64[n], weights: f64[k], out: f64[n - k + 1]) -> None:
    for i in range(len(out)):
        s = 0.0
        for j in range(len(weights)):
            s = s + x[i + j] * weights[j]
        out[i] = s


def conv2d(image: f32[h, w], out: f32[h - 2, w - 2], kernel: f32[TAPS, TAPS]) -> None:
    rows, columns = out.shape
    for y in range(rows):
        for x in range(columns):
            total = f32(0)
            for dy in range(TAPS):
                for dx in range(TAPS):
                    total += image[y + dy, x + dx] * kernel[dy, dx]
            out[y, x] = max(total, 0.0)


def jacobi(steps: size, A: f64[n, n], B: f64[n, n]) -> None:
    n = len(A)
    for _t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, 1 + j] + A[1 + i, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = B[i, j]


def prefix_sum(A: i32[n]) -> None:
    for i in range(1, len(A)):
        A[i] += A[i - 1]


def lu(n: size, A: f64[n, n]) -> None:
    for i in range(n):
        for j in range(i):
            for p in range(j):
                A[i, j] -= A[i, p] * A[p, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for p in range(i):
                A[i, j] -= A[i, p] * A[p, j]


def floyd_warshall(n: size, D: i32[n, n]) -> None:
    for q in range(n):
        for i in range(n):
            for j in range(n):
                if D[i, q] + D[q, j] < D[i, j]:
                    D[i, j] = D[i, q] + D[q, j]


def transpose(A: f32[n, m], B: f32[m, n]) -> None:
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[j, i] = A[i, j]


def back_substitution(n: size, L: f64[n, n], b: f64[n], x: f64[n]) -> None:
    for i in range(n - 1, -1, -1):
        x[i] = b[i]
        for j in range(i + 1, n):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


def every_third(n: size, A: i64[n], B: i64[n]) -> None:
    for i in range(n - 1, 0, -3):
        A[i] = B[i] + i
    for i in range(1, n, 2):
        B[i] = A[i // 2] - (i % 3) * (-i // 2)


def clipped(n: size, A: f32[n], B: f32[n]) -> None:
    for i in range(n):
        B[i] = -0.0
        for j in range(max(0, i - 2), min(n, i + 3)):
            B[i] += A[j]


def triangle(n: size, A: f64[n, n]) -> None:
    for i in range(n):
        for j in range(n):
            if i < j:
                A[i, j] = 0.0
            elif i == j and i % 2 == 0:
                A[i, j] = 1.0
            else:
                A[i, j] *= 2


def relu_pair(n: size, A: f32[n], B: f32[n]) -> None:
    for i in range(n):
        if A[i] > 0 and B[i] < 0.5:
            B[i] += A[i]
            A[i] = 0
        elif A[i] < -0.5:
            A[i] = -A[i]
        else:
            B[i] = A[i] if i % 2 == 0 else B[i] * A[i]


def peaks(n: size, A: f32[n], found: i32[1], where: i64[1]) -> None:
    best = -1e30
    at = 0
    count = 0
    for i in range(n):
        if i > 0 and A[i - 1] < A[i]:
            count += 1
        if A[i] > best:
            best = A[i]
            at = i
    found[0] = count
    where[0] = at


def swap(n: size, A: f32[n], B: f32[n]) -> None:
    for i in range(n):
        A[i], B[i] = B[i], A[i]


def wrapping(n: size, A: i8[n], B: u8[n], C: i32[n]) -> None:
    for i in range(n):
        A[i] = A[i] + A[i]
        B[i] -= 200
        C[i] = A[i] * B[i] + i
        if A[i] < 300 and B[i] >= -1:
            C[i] ^= 5
            C[i] = ~(C[i] << 2) | (B[i] >> 1)


def elementary(n: size, x: f64[n], y: f64[n]) -> None:
    for i in range(n):
        t = math.exp(-x[i] * x[i] / 2)
        y[i] = t / math.sqrt(2 * math.pi) + abs(math.sin(x[i])) ** 3 + np.hypot(x[i], 1.0) + x[i] ** 2
        y[i] += math.floor(4 * x[i]) + int(3 * x[i]) + round(2.5 * x[i]) + np.minimum(x[i], y[i])


def promoting(n: size, a: f32[n], b: f64[n], c: i32[n], d: f64[n], gain: f32, bias: float, on: bool) -> None:
    for i in range(n):
        scaled = a[i] * gain + bias
        d[i] = scaled * b[i] + c[i] / 2 + c[i] // 2
        a[i] = d[i] - i / n
        if on and 0 <= a[i] < 1 < c[i]:
            c[i] = 2.75 * c[i]
        b[i] = np.float32(b[i]) * 1.1


def stencil_ends(n: size, A: f64[n], B: f64[n]) -> None:
    for i in range(n):
        left = A[i - 1] if i > 0 else 0.0
        right = A[i + 1] if i < n - 1 else 0.0
        B[i] = left - 2 * A[i] + right
    if n > 0:
        for i in range(n):
            B[i] += A[-1]


def linear(n: size, m: size, A: f32[n * m], B: f32[n, m]) -> None:
    for i in range(n):
        for j in range(m):
            B[i, j] = A[i * m + j]


def two_lives(n: size, A: f64[n], B: f64[n]) -> None:
    for i in range(n):
        t = A[i] * 2
        A[i] = t + t
    for i in range(n):
        t = B[i] + 1
        B[i] = t * t


def chosen_locals(n: size, A: f64[n], B: f64[n]) -> None:
    for i in range(n):
        t = 1.0
        if A[i] > 0.5:
            t = A[i]
            u = t * t
            B[i] = u
        else:
            if B[i] > 0.5:
                t += 2
        A[i] = t


def shifted(n: size, A: f64[n + 2], B: f64[n]) -> None:
    for i in range(n):
        j = i + 1
        left = j - 1
        B[i] = A[left] + A[j + 1] * j


def multiplied(n: size, A: i64[n], p: i64[1]) -> None:
    assert n >= 0
    p[0] = a = 1
    for i in range(n):
        p[0] = A[i] * p[0]
        a = min(a, A[i])
        A[i] = a**3


@dataclass(frozen=True)
class Case:
    function: Callable[..., None]
    shapes: Mapping[str, Callable[..., tuple[int, ...]]]
    values: Mapping[str, Any] = field(default_factory=dict)
    exact: bool = True


def _square(**s: int) -> tuple[int, ...]:
    return (s["n"], s["n"])


def _line(**s: int) -> tuple[int, ...]:
    return (s["n"],)


def _one(**s: int) -> tuple[int, ...]:
    return (1,)


def _over(*names: str) -> Callable[..., tuple[int, ...]]:
    return lambda **s: tuple(s[x] for x in names)


CASES = [
    Case(gemm, {"A": _over("n", "k"), "B": _over("k", "m"), "C": _over("n", "m")}, {"alpha": np.float32(1.5)}),
    Case(dot_rows, {"A": _over("n", "m"), "B": _over("k", "m"), "C": _over("n", "k")}),
    Case(conv1d, {"x": lambda **s: (s["n"] + s["k"],), "weights": _over("k"), "out": lambda **s: (s["n"] + 1,)}),
    Case(conv2d, {"image": lambda **s: (s["n"] + 2, s["m"] + 2), "out": _over("n", "m"), "kernel": lambda **s: (3, 3)}),
    Case(jacobi, {"A": _square, "B": _square}, {"steps": 2}),
    Case(prefix_sum, {"A": _line}),
    Case(lu, {"A": _square}),
    Case(floyd_warshall, {"D": _square}),
    Case(transpose, {"A": _over("n", "m"), "B": _over("m", "n")}),
    Case(back_substitution, {"L": _square, "b": _line, "x": _line}),
    Case(every_third, {"A": _line, "B": _line}),
    Case(clipped, {"A": _line, "B": _line}),
    Case(triangle, {"A": _square}),
    Case(relu_pair, {"A": _line, "B": _line}),
    Case(peaks, {"A": _line, "found": _one, "where": _one}),
    Case(swap, {"A": _line, "B": _line}),
    Case(wrapping, {"A": _line, "B": _line, "C": _line}),
    Case(elementary, {"x": _line, "y": _line}, exact=False),
    Case(
        promoting,
        {"a": _line, "b": _line, "c": _line, "d": _line},
        {"gain": np.float32(0.7), "bias": 0.1, "on": True},
    ),
    Case(stencil_ends, {"A": _line, "B": _line}),
    Case(linear, {"A": lambda **s: (s["n"] * s["m"],), "B": _over("n", "m")}),
    Case(two_lives, {"A": _line, "B": _line}),
    Case(chosen_locals, {"A": _line, "B": _line}),
    Case(shifted, {"A": lambda **s: (s["n"] + 2,), "B": _line}),
    Case(multiplied, {"A": _line, "p": _one}),
]

SIZES = ({"n": 5, "m": 4, "k": 3}, {"n": 1, "m": 2, "k": 1}, {"n": 0, "m": 3, "k": 1}, {"n": 8, "m": 1, "k": 2})


def _random(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray[Any, Any]:
    draw = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return (draw.random(shape) * 2 - 0.9).astype(dtype)
    low = 0 if np.dtype(dtype).kind == "u" else -100
    return draw.integers(low, 120, shape).astype(dtype)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.function.__name__)
@pytest.mark.parametrize("chosen", SIZES, ids=str)
def test_kernel_computes_what_python_computes(case: Case, chosen: dict[str, int]) -> None:
    read = read_python(case.function)
    arguments: dict[str, Any] = {}
    for seed, parameter in enumerate(read.signature.parameters):
        if parameter.kind == "array":
            arguments[parameter.name] = _random(case.shapes[parameter.name](**chosen), parameter.type.numpy, seed)
        else:
            arguments[parameter.name] = case.values.get(parameter.name, chosen.get(parameter.name))
    expected = {x: v.copy() if isinstance(v, np.ndarray) else v for x, v in arguments.items()}
    with np.errstate(all="ignore"):
        case.function(**expected)
    run_kernel(read.kernel, bind_call(read.signature, (), arguments))
    for name, value in arguments.items():
        if isinstance(value, np.ndarray) and case.exact:
            np.testing.assert_array_equal(value, expected[name], err_msg=name)
        elif isinstance(value, np.ndarray):
            np.testing.assert_allclose(value, expected[name], rtol=1e-13, err_msg=name)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.function.__name__)
def test_kernel_prints_and_parses_back(case: Case) -> None:
    kernel = read_python(case.function).kernel
    assert parse_kernel(print_kernel(kernel)) == kernel
