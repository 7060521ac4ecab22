"""Nests and definitions: what matches, with which operands, and that the definition does the same with these; what does
not match, and why."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from planish.astgen.checking.verify import evaluate
from planish.ir.expr import Binary, Expr, index, type_of
from planish.ir.nest import Array, Assign, Block, Kernel, Reduce
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.ir.traverse import walk
from planish.poly.match.matcher import MismatchError, OperandMatch, match_nest
from planish.schedule.accesses import Indices, redirect

BITS = {"v4": 128, "v8": 256}
SIZES = ({"n": 5, "m": 3}, {"n": 4, "m": 4}, {"n": 2, "m": 1})

FOUR = "kernel four(d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] = s[l] } }"
COPY = "kernel copy(n; d: f32[n], s: f32[n]) { for l in 0 .. n { d[l] = s[l] } }"
LOAD = "kernel load(d: f32[4] @v4, s: f32[4]) { for l in 0 .. 4 { d[l] = s[l] } }"
STORE = "kernel store(d: f32[4], s: f32[4] @v4) { for l in 0 .. 4 { d[l] = s[l] } }"
SET = "kernel set(x: f32; d: f32[4] @v4) { for l in 0 .. 4 { d[l] = x } }"
FMA = "kernel fma(d: f32[4] @v4, a: f32[4] @v4, b: f32[4] @v4) { for l in 0 .. 4 { d[l] += a[l] * b[l] } }"
LANE = "kernel lane(k; d: f32[4] @v4, a: f32[4] @v4, b: f32[4] @v4) { for l in 0 .. 4 { d[l] += a[l] * b[k] } }"
AXPY = "kernel axpy(n; x: f32; d: f32[n], s: f32[n]) { for l in 0 .. n { d[l] += x * s[l] } }"
MIX = "kernel mix(x: f32, y: f32; d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] = y * d[l] + x * s[l] } }"
TWICE = "kernel twice(x: f32; d: f32[4], e: f32[4]) { for l in 0 .. 4 { d[l] = x e[l] = x } }"
CUT = "kernel cut(n; d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] = select(l < n, s[l], 0.0:f32) } }"
GROUP = """kernel group(k; d: i32[4] @v4, b: i8[16] @v4)
{ for l in 0 .. 4 { for q in 0 .. 4 { d[l] += i32(b[4 * k + q]) } } }"""
PAIR = """kernel pair(d: i32[4], a: i16[8], b: i16[2])
{ for l in 0 .. 4 { for q in 0 .. 2 { d[l] += i32(a[2 * l + q]) * i32(b[q]) } } }"""
ROWS = """kernel rows(m, n, ld, le; d: f32[m, ld], s: f32[m, le])
{ for i in 0 .. m { for j in 0 .. n { d[i, j] = s[i, j] } } }"""
SQUARE = "kernel square(n; d: f32[n, n]) { for i in 0 .. n { for j in 0 .. n { d[i, j] = 0.0:f32 } } }"
PRODUCT = """kernel product(m, n, k, lda, ldb, ldc; A: f32[m, lda], B: f32[k, ldb], C: f32[m, ldc])
{ for i in 0 .. m { for j in 0 .. n { for p in 0 .. k { C[i, j] += A[i, p] * B[p, j] } } } }"""
BELOW = "kernel below(m, ld; d: f32[m], s: f32[m, ld]) { for i in 0 .. m { for j in 0 .. i + 1 { d[i] += s[i, j] } } }"
NEAR = "kernel near(d: f32[4], s: f32[5]) { for l in 0 .. 4 { d[l] = s[l + 1] - s[l] } }"
BOTH = "kernel both(d: f32[4], e: f32[4]) { for l in 0 .. 4 { d[l] = 1.0:f32 e[l] = 2.0:f32 } }"
HALVES = """kernel halves(d: f32[4], s: f32[4])
{ for l in 0 .. 4 { if l < 2 { d[l] = s[l] } else { d[l] = -s[l] } } }"""
SMALL = "kernel small(x: f32; d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] = min(s[l], max(x, sqrt(s[l]))) } }"
FETCH = "kernel fetch(d: f32[] nowhere, s: f32[4]) { for l in 0 .. 4 { d[] = s[l] } }"
WEIGHED = "kernel weighed(d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] = f32(l) * s[l] } }"
UNUSED = "kernel unused(n, k; d: f32[n]) { for l in 0 .. n { d[l] = 0.0:f32 } }"

AB = "A: f32[40], B: f32[40]"
R = "R: f32[4, 4] @v4"
MATRICES = "A: f32[n, m], B: f32[m, 9], C: f32[n + 2, 8]"
BYTES = "D: i32[4] @v4, B: i8[16] @v4"
WORDS = "D: i32[9], P: i16[9, 2], Q: i16[4, 2]"


def parse_nest(arrays: str, body: str) -> Kernel:
    """A kernel of sizes n, m and scalars x, y over some arrays."""
    return parse_kernel(f"kernel f(n, m; x: f32, y: f32; {arrays}) {{ {body} }}")


def match(definition: str, kernel: Kernel) -> OperandMatch:
    """How the first statement of a kernel is what a definition says."""
    return match_nest(parse_kernel(definition), kernel.body.body[0], {x.name: x for x in kernel.arrays}, BITS)


def operands(found: OperandMatch) -> str:
    """The operands by name: arrays, then sizes, then scalars."""
    parts = [f"{name}={view}" for name, view in sorted(found.arrays.items())]
    values = (*sorted(found.sizes.items()), *sorted(found.scalars.items()))
    return " ".join((*parts, *(f"{name}={print_expr(x)}" for name, x in values)))


MATCHES = [
    (FOUR, AB, "for i in 0 .. 4 { A[i] = B[i] }", "d=A[0] s=B[0]"),
    (FOUR, AB, "for i in 3 .. 7 { A[i] = B[i + 2] }", "d=A[3] s=B[5]"),
    (FOUR, AB, "for i in n .. n + 4 { A[i - 1] = B[2 * n + i - m] }", "d=A[n - 1] s=B[3 * n - m]"),
    (FOUR, "A: f32[n, 9], B: f32[9, 4]", "for i in 0 .. 4 { A[n - 1, i + 1] = B[m, i] }", "d=A[n - 1, 1] s=B[m, 0]"),
    (FOUR, "A: f32[4, 1], B: f32[9, 9]", "for i in 0 .. 4 { A[i, 0] = B[1, i] }", "d=A[0, 0] s=B[1, 0]"),
    (FOUR, "A: f32[4, n], B: f32[9]", "for i in 0 .. 2 + 2 { A[1, i + n - 4] = B[i] }", "d=A[1, n - 4] s=B[0]"),
    (FOUR, AB, "for i in 0 .. 4 { A[4 * (n + i) - 3 * i] = B[i] }", "d=A[4 * n] s=B[0]"),
    (COPY, AB, "for i in 0 .. m { A[i] = B[n + i] }", "d=A[0] s=B[n] n=m"),
    (COPY, AB, "for i in m .. 2 * n + m + 1 { A[i] = B[i] }", "d=A[m] s=B[m] n=2 * n + 1"),
    (COPY, AB, "for i in 0 .. min(n, 3) { A[i] = B[i] }", "d=A[0] s=B[0] n=min(n, 3)"),
    (COPY, AB, "for i in 0 .. n { A[i] = A[i] }", "d=A[0] s=A[0] n=n"),
    (LOAD, "R: f32[4] @v4, A: f32[40]", "for i in 0 .. 4 { R[i] = A[n + i] }", "d=R[] s=A[n]"),
    (LOAD, f"{R}, A: f32[40]", "for i in 2 .. 6 { R[1, i - 2] = A[i] }", "d=R[1] s=A[2]"),
    (LOAD, "R: f32[3, 2, 2] @v4, A: f32[40]", "for i in 0 .. 4 { R[m - 1, 0, i] = A[i] }", "d=R[m - 1] s=A[0]"),
    (STORE, "A: f32[9, 9], R: f32[2, 3, 4] @v4", "for i in 0 .. 4 { A[2, i] = R[1, 2, i] }", "d=A[2, 0] s=R[1, 2]"),
    (FMA, R, "for i in 0 .. 4 { R[0, i] += R[1, i] * R[2, i] }", "a=R[1] b=R[2] d=R[0]"),
    (FMA, R, "for i in 0 .. 4 { R[0, i] = R[0, i] + R[1, i] * R[2, i] }", "a=R[1] b=R[2] d=R[0]"),
    (FMA, R, "for i in 0 .. 4 { R[0, i] = R[3, i] * R[3, i] + R[0, i] }", "a=R[3] b=R[3] d=R[0]"),
    (FMA, R, "for i in 0 .. 4 { R[0, i] += R[0, i] * R[2, i] }", "a=R[0] b=R[2] d=R[0]"),
    (LANE, R, "for i in 0 .. 4 { R[0, i] += R[1, i] * R[2, 3] }", "a=R[1] b=R[2] d=R[0] k=3"),
    (LANE, R, "for i in 0 .. 4 { R[0, i] += R[2, m - 1] * R[1, i] }", "a=R[1] b=R[2] d=R[0] k=m - 1"),
    (SET, "R: f32[4] @v4, A: f32[40]", "for i in 0 .. 4 { R[i] = x * A[n] }", "d=R[] x=x * A[n]"),
    (AXPY, AB, "for i in 0 .. n { A[i] += B[i + 1] * y }", "d=A[0] s=B[1] n=n x=y"),
    (AXPY, AB, "for i in 0 .. n { A[i] = 2.0:f32 * B[i] + A[i] }", "d=A[0] s=B[0] n=n x=2.0:f32"),
    (AXPY, AB, "for i in 0 .. n { A[i] += B[39] * B[i] }", "d=A[0] s=B[0] n=n x=B[39]"),
    (AXPY, AB, "for i in 0 .. n { A[i] += (x + y) * B[i] }", "d=A[0] s=B[0] n=n x=x + y"),
    (MIX, AB, "for i in 0 .. 4 { A[i] = B[i] * x + A[i] * y }", "d=A[0] s=B[0] x=x y=y"),
    (MIX, AB, "for i in 0 .. 4 { A[i] = x * A[i] + y * B[i] }", "d=A[0] s=B[0] x=y y=x"),
    (TWICE, AB, "for i in 0 .. 4 { A[i] = x + y B[i] = x + y }", "d=A[0] e=B[0] x=x + y"),
    (TWICE, AB, "for i in 0 .. 4 { A[i] = y A[i + 4] = y }", "d=A[0] e=A[4] x=y"),
    (TWICE, AB, "for i in 0 .. 4 { A[n + i + 4] = y A[n + i] = y }", "d=A[n + 4] e=A[n] x=y"),
    (FOUR, "A: f32[9, 9]", "for i in 0 .. 4 { A[1, i] = A[0, i] }", "d=A[1, 0] s=A[0, 0]"),
    (FOUR, "A: f32[m, 9]", "for i in 0 .. 4 { A[n + 1, i] = A[n, i] }", "d=A[n + 1, 0] s=A[n, 0]"),
    (CUT, AB, "for i in 0 .. 4 { A[i] = select(i < m, B[i], 0.0:f32) }", "d=A[0] s=B[0] n=m"),
    (CUT, AB, "for i in 2 .. 6 { A[i] = select(i < m, B[i], 0.0:f32) }", "d=A[2] s=B[2] n=m - 2"),
    (CUT, AB, "for i in 0 .. 4 { A[i] = select(i + 4 < n, B[i + 4], 0.0:f32) }", "d=A[0] s=B[4] n=n - 4"),
    (
        PAIR,
        "D: i32[9], P: i16[40], Q: i16[4, 2]",
        "for i in 0 .. 4 { for k in 0 .. 2 { D[i + 1] += i32(Q[3, k]) * i32(P[8 + 2 * i + k]) } }",
        "a=P[8] b=Q[3, 0] d=D[1]",
    ),
    (
        PAIR,
        WORDS,
        "for i in 0 .. 4 { for k in 0 .. 2 { D[i] += i32(P[m + i, k]) * i32(Q[0, k]) } }",
        "a=P[m, 0] b=Q[0, 0] d=D[0]",
    ),
    (GROUP, BYTES, "for i in 0 .. 4 { for k in 0 .. 4 { D[i] += i32(B[8 + k]) } }", "b=B[] d=D[] k=2"),
    (GROUP, BYTES, "for i in 0 .. 4 { for k in 4 .. 8 { D[i] += i32(B[4 * m + k - 4]) } }", "b=B[] d=D[] k=m"),
    (
        ROWS,
        MATRICES,
        "for i in 1 .. n { for j in 0 .. m { C[i, j + 1] = A[i, j] } }",
        "d=C[1, 1] s=A[1, 0] ld=8 le=m m=n - 1 n=m",
    ),
    (
        ROWS,
        "A: f32[n, m, 3], B: f32[40]",
        "for i in 0 .. n { for j in 0 .. 2 { B[7 * i + j] = A[i, 0, j + 1] } }",
        "d=B[0] s=A[0, 0, 1] ld=7 le=3 * m m=n n=2",
    ),
    (
        ROWS,
        "A: f32[9, 5], B: f32[9]",
        "for i in 0 .. n { for j in 0 .. m { A[i, j] = B[j] } }",
        "d=A[0, 0] s=B[0] ld=5 le=0 m=n n=m",
    ),
    (SQUARE, "A: f32[n, n]", "for i in 0 .. n { for j in 0 .. n { A[i, j] = 0.0:f32 } }", "d=A[0, 0] n=n"),
    (
        PRODUCT,
        MATRICES,
        "for i in 0 .. n { for j in 2 .. 6 { for k in 0 .. m { C[i + 2, j] += B[k, j] * A[i, k] } } }",
        "A=A[0, 0] B=B[0, 2] C=C[2, 2] k=m lda=m ldb=9 ldc=8 m=n n=4",
    ),
    (
        BELOW,
        "A: f32[9], B: f32[9, 9]",
        "for i in 1 .. n { for j in 1 .. i + 1 { A[i] += B[i, j] } }",
        "d=A[1] s=B[1, 1] ld=9 m=n - 1",
    ),
    (
        BELOW,
        "A: f32[9], B: f32[9, 9]",
        "for i in 1 .. n { for j in 0 .. i { A[i] += B[i - 1, j + i] } }",
        "d=A[1] s=B[0, 1] ld=10 m=n - 1",
    ),
    (NEAR, AB, "for i in 1 .. 5 { A[i] = B[i + 3] - B[i + 2] }", "d=A[1] s=B[3]"),
    (BOTH, AB, "for i in 0 .. 4 { A[i] = 1.0:f32 B[i + 3] = 2.0:f32 }", "d=A[0] e=B[3]"),
    (HALVES, AB, "for i in 5 .. 9 { if i < 7 { A[i] = B[i] } else { A[i] = -B[i] } }", "d=A[5] s=B[5]"),
    (SMALL, AB, "for i in 0 .. 4 { A[i] = min(max(sqrt(B[i]), y), B[i]) }", "d=A[0] s=B[0] x=y"),
    (FETCH, "P: f32[] nowhere, A: f32[40]", "for i in 0 .. 4 { P[] = A[n + i] }", "d=P[] s=A[n]"),
    (WEIGHED, AB, "for i in 2 .. 6 { A[i] = B[i] * f32(i - 2) }", "d=A[2] s=B[2]"),
]


@pytest.mark.parametrize(("definition", "arrays", "body", "expected"), MATCHES)
def test_what_is_the_same_matches(definition: str, arrays: str, body: str, expected: str) -> None:
    kernel = parse_nest(arrays, body)
    found = match(definition, kernel)
    assert operands(found) == expected
    for sizes in SIZES:
        check_meaning(parse_kernel(definition), kernel, found, sizes)


def check_meaning(definition: Kernel, kernel: Kernel, found: OperandMatch, sizes: dict[str, int]) -> None:
    """The definition, which reads all of its operands before it writes, leaves the arrays as the nest does."""
    before = values_for(kernel, sizes)
    after = {name: x.copy() if isinstance(x, np.ndarray) else x for name, x in before.items()}
    try:
        run_kernel(kernel, before)
    except (IndexError, ValueError):
        return
    run_definition(definition, kernel, found, sizes, after)
    for array in kernel.arrays:
        if array.memory != "nowhere":
            np.testing.assert_array_equal(before[array.name], after[array.name], array.name)


def values_for(kernel: Kernel, sizes: dict[str, int]) -> dict[str, Any]:
    """Sizes, scalars, and arrays of small whole numbers."""
    rng = np.random.default_rng(11)
    out: dict[str, Any] = dict(sizes)
    out |= {x.name: {"x": 3, "y": -2}[x.name] for x in kernel.scalars}
    for array in kernel.arrays:
        extents = [evaluate(x, sizes) for x in array.shape if x is not None]
        out[array.name] = np.asarray(rng.integers(1, 9, extents)).astype(array.type.numpy)
    return out


def run_definition(
    definition: Kernel, kernel: Kernel, found: OperandMatch, sizes: dict[str, int], values: dict[str, Any]
) -> None:
    """Run a definition on its operands, which lie in the memory of a kernel's arrays."""
    written = {x.array for x in walk(definition.body) if isinstance(x, Assign | Reduce)}
    own: dict[str, Any] = {name: evaluate(x, sizes) for name, x in found.sizes.items()}
    own |= {name: value_of(x, kernel, values) for name, x in found.scalars.items()}
    for name, view in found.arrays.items():
        shape = kernel.array(view.array).shape
        at = (*view.index, *(index(0) for _ in shape[len(view.index) :]))
        first = evaluate(linear(at, shape), sizes)
        memory = values[view.array].reshape(-1)[first:]
        own[name] = memory if name in written else memory.copy()
    run_kernel(flattened(definition), own)


def value_of(value: Expr, kernel: Kernel, values: dict[str, Any]) -> float:
    """What an expression is before a kernel runs."""
    type = type_of(value)
    cell = Array("cell", type)
    asked = {**values, "cell": np.zeros((), type.numpy)}
    body = Block((Assign("cell", (), value),))
    run_kernel(Kernel("ask", kernel.sizes, kernel.scalars, (*kernel.arrays, cell), body), asked)
    return float(asked["cell"])


def flattened(definition: Kernel) -> Kernel:
    """The definition over memory from the first element of each array on."""
    body = definition.body
    for array in definition.arrays:
        body = redirect(body, array.name, partial(element, array))
    arrays = tuple(Array(x.name, x.type, (None,)) for x in definition.arrays)
    return Kernel(definition.name, definition.sizes, definition.scalars, arrays, body, definition.assumptions)


def element(array: Array, at: Indices) -> tuple[str, Indices]:
    """An element by its place in memory."""
    return array.name, (linear(at, array.shape),)


def linear(at: Indices, shape: tuple[Expr | None, ...]) -> Expr:
    """The place of an element in a row-major array."""
    out: Expr = index(0)
    for place, extent in zip(at, shape, strict=True):
        out = place if extent is None else Binary("add", Binary("mul", out, extent), place)
    return out


MISSES = [
    (FOUR, AB, "for i in 0 .. 5 { A[i] = B[i] }", "the loop over `i` runs 5 times, and the definition's 4"),
    (FOUR, AB, "for i in 0 .. n { A[i] = B[i] }", "the loop over `i` runs n times"),
    (FOUR, AB, "for i in 1 .. 4 { A[i] = B[i] }", "the loop over `i` runs 3 times"),
    (FOUR, AB, "for i in 0 .. 8 step 2 { A[i] = B[i] }", "the loop over `i` has a step"),
    (FOUR, AB, "for i in 0 .. 4 { A[2 * i] = B[i] }", "`A` moves by 2 an iteration, the definition's by 1"),
    (FOUR, AB, "for i in 0 .. 4 { A[i] = B[3 - i] }", "`B` moves by -1 an iteration"),
    (FOUR, AB, "for i in 0 .. 4 { A[3 - i] = B[3 - i] }", "moves by -1 an iteration"),
    (FOUR, AB, "for i in 0 .. 4 { A[i] = B[n * i] }", "`B` moves by n an iteration"),
    (FOUR, AB, "for i in 0 .. 4 { A[i] = B[n] }", "`B` moves by 0 an iteration"),
    (FOUR, "A: f32[9, 9], B: f32[9]", "for i in 0 .. 4 { A[i, 0] = B[i] }", "`A` moves by 9 an iteration"),
    (FOUR, "A: f32[9, 9], B: f32[9]", "for i in 0 .. 4 { A[i, i] = B[i] }", "`A` moves by 10 an iteration"),
    (FOUR, "A: f32[9, n], B: f32[9]", "for i in 0 .. 4 { A[i, 0] = B[i] }", "`A` moves by n an iteration"),
    (FOUR, AB, "for i in 0 .. 4 { A[i] = B[i // 2] }", "`B` is not addressed in even steps"),
    (FOUR, AB, "for i in 0 .. 4 { A[i] = B[i * i] }", "`B` is not addressed in even steps"),
    (FOUR, AB, "for i in 0 .. 4 { A[(i + 1) % 4] = B[i] }", "`A` is not addressed in even steps"),
    (FOUR, AB, "for i in 0 .. 4 { A[i] = B[min(i, 2)] }", "`B` is not addressed in even steps"),
    (FOUR, f"{AB}, I: i32[4]", "for i in 0 .. 4 { A[i] = B[i64(I[i])] }", "`B` is not addressed in even steps"),
    (FOUR, AB, "for i in 0 .. 4 { A[i] = -B[i] }", "`-B[i]` is not the definition's `s[l]`"),
    (FOUR, AB, "for i in 0 .. 4 { A[i] += B[i] }", "it has `A[i] += B[i]` where the definition has `d[l] = s[l]`"),
    (FOUR, AB, "for i in 0 .. 4 { A[i] = B[i] B[i] = x }", "it has 2 statements where the definition has 1"),
    (FOUR, AB, "for i in 0 .. 4 { let z = B[i] A[i] = z }", "it has 2 statements where the definition has 1"),
    (FOUR, AB, "for i in 0 .. 4 { for j in 0 .. 1 { A[i] = B[i] } }", "it has a loop over j where the definition"),
    (FOUR, AB, "for i in 0 .. 4 { if i < 3 { A[i] = B[i] } }", "it has a test where the definition"),
    (FOUR, AB, "A[0] = B[0]", "it has `A[0] = B[0]` where the definition has a loop over l"),
    (FOUR, "A: f64[9], B: f64[9]", "for i in 0 .. 4 { A[i] = B[i] }", "`B[i]` is of f64, not f32"),
    (FOUR, "A: f32[9], B: f64[9]", "for i in 0 .. 4 { A[i] = f32(B[i]) }", "`f32(B[i])` is not the definition's"),
    (FOUR, AB, "for i in 0 .. 4 { A[i] = A[i + 1] }", "`A[1]` and `A[0]` may overlap, of which one is written"),
    (FOUR, AB, "for i in 0 .. 4 { A[i + n] = A[i] }", "`A[0]` and `A[n]` may overlap"),
    (FOUR, "A: f32[9, 9]", "for i in 0 .. 4 { A[0, i + 3] = A[0, i] }", "`A[0, 0]` and `A[0, 3]` may overlap"),
    (FOUR, "A: f32[9, 3]", "for i in 0 .. 4 { A[1, i] = A[0, i] }", "`A[0, 0]` and `A[1, 0]` may overlap"),
    (COPY, "A: f32[9, 9]", "for i in 0 .. n { A[1, i] = A[m, i] }", "`A[m, 0]` and `A[1, 0]` may overlap"),
    (ROWS, "A: f32[9, 9]", "for i in 0 .. 4 { for j in 0 .. 4 { A[i, j] = A[i + 1, j] } }", "may overlap"),
    (LANE, R, "for i in 0 .. 4 { R[0, i] += R[1, i] * R[0, 3] }", "`R[0]` and `R[0]` may overlap"),
    (FMA, R, "for i in 0 .. 4 { R[n, i] += R[m, i] * R[3, i] }", "may overlap, of which one is written"),
    (BOTH, AB, "for i in 0 .. 4 { A[i] = 1.0:f32 A[i + 3] = 2.0:f32 }", "`A[0]` and `A[3]` may overlap"),
    (BOTH, AB, "for i in 0 .. 4 { A[i] = 1.0:f32 A[i] = 2.0:f32 }", "`A[0]` and `A[0]` may overlap"),
    (BOTH, AB, "for i in 0 .. 4 { A[i] = 2.0:f32 B[i] = 1.0:f32 }", "`2.0:f32` is not the definition's `1.0:f32`"),
    (NEAR, AB, "for i in 0 .. 4 { A[i] = B[i + 2] - B[i] }", "`B[1]` and `B[0]` are to be the same operand"),
    (NEAR, f"{AB}, C: f32[9]", "for i in 0 .. 4 { A[i] = B[i + 1] - C[i] }", "`C` and `B` are to be the same operand"),
    (NEAR, AB, "for i in 0 .. 4 { A[i] = B[i] - B[i + 1] }", "`B[-1]` and `B[1]` are to be the same operand"),
    (LOAD, f"{R}, A: f32[9]", "for i in 0 .. 4 { R[i, 0] = A[i] }", "`R` is not in one register for all lanes"),
    (LOAD, f"{R}, A: f32[9]", "for i in 0 .. 4 { R[0, 3 - i] = A[i] }", "`R` moves by -1 an iteration"),
    (STORE, f"{R}, A: f32[9]", "for i in 0 .. 4 { A[i] = R[0, i + 1] }", "`R` is used from lane 1 on"),
    (SET, R, "for i in 0 .. 4 { R[0, i] = R[1, 2] }", "`R[1, 2]` is not the same in every iteration"),
    (SET, f"{R}, S: f32[4] @v4", "for i in 0 .. 4 { R[0, i] = S[2] }", "`S[2]` is in a vector register"),
    (SET, "R: f64[2] @v4", "for i in 0 .. 4 { R[i] = 0.0 }", "`0.0:f64` is of f64, not f32"),
    (AXPY, AB, "for i in 0 .. n { A[i] += B[i] * B[i] }", "`B[i]` is not the same in every iteration"),
    (AXPY, AB, "for i in 0 .. n { A[i] += f32(i) * B[i] }", "is not the same in every iteration"),
    (AXPY, AB, "for i in 0 .. n { A[i] += A[39] * B[i] }", "is not the same in every iteration"),
    (AXPY, AB, "for i in 0 .. n { A[i] *= x * B[i] }", "it has `A[i] *= x * B[i]` where the definition"),
    (AXPY, AB, "for i in 0 .. n { A[i] = x * B[i] - A[i] }", "where the definition has `d[l] += x * s[l]`"),
    (MIX, AB, "for i in 0 .. 4 { A[i] = y * B[i] + x * B[i] }", "`B[i]` is not the same in every iteration"),
    (TWICE, AB, "for i in 0 .. 4 { A[i] = y A[i + 3] = y }", "`A[0]` and `A[3]` may overlap"),
    (TWICE, AB, "for i in 0 .. 4 { A[i + n] = y A[i + m] = y }", "`A[n]` and `A[m]` may overlap"),
    (TWICE, AB, "for i in 0 .. 4 { A[i] = x B[i] = y }", "`y` and `x` are to be the same"),
    (CUT, AB, "for i in 0 .. 4 { A[i] = select(i < n, B[i], -0.0:f32) }", "is not the definition's `0.0:f32`"),
    (CUT, AB, "for i in 0 .. 4 { A[i] = select(i <= n, B[i], 0.0:f32) }", "is not the definition's `l < n`"),
    (CUT, AB, "for i in 0 .. 4 { A[i] = select(2 * i < n, B[i], 0.0:f32) }", "differs from the definition's `l - n`"),
    (CUT, AB, "for i in 0 .. 4 { A[i] = select(B[i] < x, B[i], 0.0:f32) }", "`B[i]` is of f32, not i64"),
    (
        PAIR,
        "D: i32[9], P: i16[40], Q: i16[2]",
        "for i in 0 .. 4 { for k in 0 .. 2 { D[i] += i32(P[4 * i + k]) * i32(Q[k]) } }",
        "`P` moves by 4 an iteration, the definition's by 2",
    ),
    (
        PAIR,
        "D: i32[9], P: i16[40], Q: i16[4]",
        "for i in 0 .. 4 { for k in 0 .. 4 { D[i] += i32(P[2 * i + k]) * i32(Q[k]) } }",
        "the loop over `k` runs 4 times",
    ),
    (
        PAIR,
        "D: i32[9], P: u16[40], Q: i16[2]",
        "for i in 0 .. 4 { for k in 0 .. 2 { D[i] += i32(P[2 * i + k]) * i32(Q[k]) } }",
        "is of",
    ),
    (PAIR, WORDS, "for i in 0 .. 4 { for k in 0 .. 2 { D[i] += i32(P[i, k] * Q[0, k]) } }", "is not the definition's"),
    (GROUP, BYTES, "for i in 0 .. 4 { for k in 0 .. 4 { D[i] += i32(B[6 + k]) } }", "`B` is used from lane 6 on"),
    (GROUP, BYTES, "for i in 0 .. 4 { for k in 0 .. 4 { D[i] += i32(B[n + k]) } }", "`B` is used from lane n on"),
    (SQUARE, "A: f32[9, 9]", "for i in 0 .. n { for j in 0 .. m { A[i, j] = 0.0:f32 } }", "`j` runs m times"),
    (SQUARE, "A: f32[9, m]", "for i in 0 .. n { for j in 0 .. n { A[i, j] = 0.0:f32 } }", "`A` moves by m an"),
    (
        PRODUCT,
        "A: f32[n, m], B: f32[9, m], C: f32[9, 9]",
        "for i in 0 .. n { for j in 0 .. 9 { for k in 0 .. m { C[i, j] += A[i, k] * B[j, k] } } }",
        "`B` moves by m an iteration, the definition's by 1",
    ),
    (BELOW, "A: f32[9], B: f32[9, 9]", "for i in 0 .. n { for j in 0 .. i { A[i] += B[i, j] } }", "the loop over `j`"),
    (BELOW, "A: f32[9], B: f32[9, 9]", "for i in 0 .. n { for j in 0 .. m { A[i] += B[i, j] } }", "`j` runs m times"),
    (HALVES, AB, "for i in 0 .. 4 { if i < 3 { A[i] = B[i] } else { A[i] = -B[i] } }", "differs from the definition's"),
    (HALVES, AB, "for i in 0 .. 4 { if i < 2 { A[i] = B[i] } }", "it has 0 statements where the definition has 1"),
    (HALVES, AB, "for i in 0 .. 4 { if i > 2 { A[i] = B[i] } else { A[i] = -B[i] } }", "is not the definition's"),
    (SMALL, AB, "for i in 0 .. 4 { A[i] = max(B[i], min(x, sqrt(B[i]))) }", "is not the definition's"),
    (SMALL, AB, "for i in 0 .. 4 { A[i] = min(B[i], max(x, exp(B[i]))) }", "is not"),
    (WEIGHED, AB, "for i in 2 .. 6 { A[i] = B[i] * f32(i) }", "differs from the definition's `l`"),
    (UNUSED, AB, "for i in 0 .. n { A[i] = 0.0:f32 }", "nothing says what `k` of the definition is"),
]


@pytest.mark.parametrize(("definition", "arrays", "body", "reason"), MISSES)
def test_what_differs_does_not_match(definition: str, arrays: str, body: str, reason: str) -> None:
    with pytest.raises(MismatchError) as error:
        match(definition, parse_nest(arrays, body))
    assert reason in error.value.reason and not error.value.memory


MEMORIES = [
    (LOAD, "A: f32[9], B: f32[9]", "for i in 0 .. 4 { A[i] = B[i] }", "`A` is in dram, not in v4"),
    (LOAD, "A: f32[8] @v8, B: f32[9]", "for i in 0 .. 4 { A[i] = B[i] }", "`A` is in v8, not in v4"),
    (LOAD, "A: f32[4] register, B: f32[9]", "for i in 0 .. 4 { A[i] = B[i] }", "`A` is in register, not in v4"),
    (LOAD, "A: f32[2, 8] @v4, B: f32[9]", "for i in 0 .. 4 { A[0, i] = B[i] }", "not the 4 lanes of v4"),
    (LOAD, "A: f32[2] @v4, B: f32[9]", "for i in 0 .. 4 { A[i] = B[i] }", "not the 4 lanes of v4"),
    (LOAD, "A: f32[2, n] @v4, B: f32[9]", "for i in 0 .. 4 { A[0, i] = B[i] }", "not the 4 lanes of v4"),
    (STORE, AB, "for i in 0 .. 4 { A[i] = B[i] }", "`B` is in dram, not in v4"),
    (STORE, "A: f32[4] @v4, B: f32[4] @v4", "for i in 0 .. 4 { A[i] = B[i] }", "`A` is in v4, not in memory"),
    (FOUR, "A: f32[9], B: f32[4] @v4", "for i in 0 .. 4 { A[i] = B[i] }", "`B` is in v4, not in memory"),
    (FOUR, "A: f32[9] nowhere, B: f32[9]", "for i in 0 .. 4 { A[i] = B[i] }", "`A` is in nowhere, not in memory"),
    (FETCH, "P: f32[] stack, B: f32[9]", "for i in 0 .. 4 { P[] = B[i] }", "`P` is in stack"),
    (FETCH, "P: f32[] nowhere, B: f32[4] @v4", "for i in 0 .. 4 { P[] = B[i] }", "`B` is in v4, not in memory"),
    (FMA, f"{R}, A: f32[4]", "for i in 0 .. 4 { R[0, i] += R[1, i] * A[i] }", "`A` is in dram, not in v4"),
]


@pytest.mark.parametrize(("definition", "arrays", "body", "reason"), MEMORIES)
def test_operands_in_another_memory_do_not_match(definition: str, arrays: str, body: str, reason: str) -> None:
    with pytest.raises(MismatchError) as error:
        match(definition, parse_nest(arrays, body))
    assert reason in error.value.reason and error.value.memory


@pytest.mark.parametrize(
    ("definition", "arrays", "condition"), [(FOUR, "A: f32[9, n]", "n > 3"), (COPY, "A: f32[9, 9]", "n < 10")]
)
def test_rows_of_one_array_are_apart_unless_they_run_into_each_other(
    definition: str, arrays: str, condition: str
) -> None:
    count = 4 if definition == FOUR else "n"
    found = match(definition, parse_nest(arrays, f"for i in 0 .. {count} {{ A[1, i] = A[0, i] }}"))
    assert condition in [print_expr(x) for x in found.conditions]


def test_conditions_are_told_in_the_words_of_the_nest() -> None:
    definition = "kernel c(n; d: f32[8]) assume n >= 0 assume n <= 8 { for l in 0 .. n { d[l] = 0.0:f32 } }"
    found = match(definition, parse_nest("A: f32[9]", "for i in m .. n { A[i] = 0.0:f32 }"))
    assert [print_expr(x) for x in found.conditions] == ["n - m >= 0", "n - m <= 8"]


def test_one_register_is_not_cut_in_two_by_an_index_of_its_lanes() -> None:
    kernel = parse_nest("R: f32[2, 2, 2] @v4, A: f32[9]", "for i in 0 .. 4 { R[0, 1, i - 2] = A[i] }")
    with pytest.raises(MismatchError, match="first lane"):
        match(LOAD, kernel)


FILL = "kernel fill(m, n, ld; d: i64[m, ld]) { for i in 0 .. m { for j in 0 .. n { d[i, j] = 0 } } }"
WHOLE = "kernel whole(d: i32[4], s: i32[4]) { for l in 0 .. 4 { d[l] = s[l] } }"
PLUS = "kernel plus(x: i64; d: i64[4], e: i64[4]) { for l in 0 .. 4 { d[l] = x e[l] = x + 1 } }"
WIDE = "kernel wide(x: i32; d: i32[4], e: i64[4]) { for l in 0 .. 4 { d[l] = x e[l] = i64(x) } }"
SHEAR = "kernel shear(d: f32[4, 8], s: f32[4, 4]) { for i in 0 .. 4 { for j in 0 .. 4 { d[i, j] = s[i, j] } } }"
AHEAD = "kernel ahead(k; d: f32[4], s: f32[9], t: f32[4, k]) { for l in 0 .. 4 { d[l] = s[l + k] + t[l, 0] } }"
FROM = "kernel from(n; d: f32[8], s: f32[8]) { for l in n .. 8 { d[l] = s[l] } }"

BOUND_READ = "kernel f(n, m; A: i64[4, 4]) { for i in 0 .. 3 { for j in 0 .. min(4, A[0, 0]) { A[i, j] = 0 } } }"
PLACE_READ = "kernel f(n, m; A: i32[40], B: i32[40]) { for i in 0 .. 4 { A[i] = B[i64(A[0]) + i] } }"
STORE_READ = "kernel f(n, m; A: i32[40], B: i32[40]) { for i in 0 .. 4 { A[i64(A[3]) + i] = B[i] } }"
SAME_NAME = "kernel f(n, m; x: i64, y: i64; A: i64[4], B: i64[4]) { for i in 0 .. 4 { A[i] = y B[i] = x + 1 } }"
SAME_CAST = "kernel f(n, m; x: i32, y: i32; A: i32[4], B: i64[4]) { for i in 0 .. 4 { A[i] = y B[i] = i64(x) } }"
APART = "kernel f(n, m; A: f32[64]) { for i in 0 .. 4 { for j in 0 .. 4 { A[8 * i + j] = A[4 * i + j] } } }"
OFFSET = "kernel f(n, m; A: f32[4], B: f32[40], C: f32[4, 3]) { for i in 0 .. 4 { A[i] = B[i + 4] + C[i, 0] } }"
UPPER = "kernel f(n, m; A: f32[9], B: f32[9]) { for i in m .. 8 { A[i] = B[i] } }"

REFUSED_OR_SAME = [
    (FILL, BOUND_READ),
    (WHOLE, PLACE_READ),
    (WHOLE, STORE_READ),
    (PLUS, SAME_NAME),
    (WIDE, SAME_CAST),
    (SHEAR, APART),
    (ROWS, APART),
    (AHEAD, OFFSET),
    (FROM, UPPER),
]


@pytest.mark.parametrize(("definition", "text"), REFUSED_OR_SAME)
def test_what_is_not_the_same_is_refused(definition: str, text: str) -> None:
    kernel = parse_kernel(text)
    try:
        found = match(definition, kernel)
    except MismatchError:
        return
    for sizes in SIZES:
        check_meaning(parse_kernel(definition), kernel, found, sizes)


def test_reasons_are_told_without_marks() -> None:
    kernel = parse_nest("A: f32[9], B: f32[9, 9]", "for i in 0 .. n { for j in 0 .. i { A[i] += B[i, j] } }")
    with pytest.raises(MismatchError) as error:
        match(BELOW, kernel)
    assert "%" not in error.value.reason
