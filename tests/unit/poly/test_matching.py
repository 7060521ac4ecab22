"""Nests and definitions: what matches, with which operands, and that the definition on these does the same; what does
not, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest

from planish.astgen.verify import evaluate
from planish.ir.expr import Binary, Expr, index, type_of
from planish.ir.interpreter import run_kernel
from planish.ir.nest import Array, Assign, Block, For, Kernel, Reduce
from planish.ir.parser import parse_kernel
from planish.ir.printer import print_expr
from planish.ir.traverse import walk
from planish.poly.matching import Match, MismatchError, View, match_nest

BITS = {"v4": 128}
SIZES = ({"n": 5, "m": 3}, {"n": 4, "m": 4}, {"n": 2, "m": 1})

COPY = "kernel copy(n; d: f32[n], s: f32[n]) { for l in 0 .. n { d[l] = s[l] } }"
FOUR = "kernel four(d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] = s[l] } }"
LOAD = "kernel load(d: f32[4] @v4, s: f32[4]) { for l in 0 .. 4 { d[l] = s[l] } }"
STORE = "kernel store(d: f32[4], s: f32[4] @v4) { for l in 0 .. 4 { d[l] = s[l] } }"
SET = "kernel set(x: f32; d: f32[4] @v4) { for l in 0 .. 4 { d[l] = x } }"
FMA = "kernel fma(d: f32[4] @v4, a: f32[4] @v4, b: f32[4] @v4) { for l in 0 .. 4 { d[l] += a[l] * b[l] } }"
LANE = (
    "kernel lane(k; d: f32[4] @v4, a: f32[4] @v4, b: f32[4] @v4) assume k >= 0 assume k < 4"
    " { for l in 0 .. 4 { d[l] += a[l] * b[k] } }"
)
AXPY = "kernel axpy(n; x: f32; d: f32[n], s: f32[n]) { for l in 0 .. n { d[l] += x * s[l] } }"
MIX = "kernel mix(x: f32, y: f32; d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] = y * d[l] + x * s[l] } }"
CUT = "kernel cut(n; d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] = select(l < n, s[l], 0.0:f32) } }"
PAIR = (
    "kernel pair(d: i32[4], a: i16[8], b: i16[2])"
    " { for l in 0 .. 4 { for q in 0 .. 2 { d[l] += i32(a[2 * l + q]) * i32(b[q]) } } }"
)
ROWS = (
    "kernel rows(m, n, ld, le; d: f32[m, ld], s: f32[m, le])"
    " { for i in 0 .. m { for j in 0 .. n { d[i, j] = s[i, j] } } }"
)
PRODUCT = (
    "kernel product(m, n, k, lda, ldb, ldc; A: f32[m, lda], B: f32[k, ldb], C: f32[m, ldc])"
    " { for i in 0 .. m { for j in 0 .. n { for p in 0 .. k { C[i, j] += A[i, p] * B[p, j] } } } }"
)
BELOW = (
    "kernel below(m, ld; d: f32[m], s: f32[m, ld]) { for i in 0 .. m { for j in 0 .. i + 1 { d[i] += s[i, j] } } }"
)
NEAR = "kernel near(d: f32[4], s: f32[5]) { for l in 0 .. 4 { d[l] = s[l + 1] - s[l] } }"
BOTH = "kernel both(d: f32[4], e: f32[4]) { for l in 0 .. 4 { d[l] = 1.0:f32 e[l] = 2.0:f32 } }"
HALVES = (
    "kernel halves(d: f32[4], s: f32[4])"
    " { for l in 0 .. 4 { if l < 2 { d[l] = s[l] } else { d[l] = -s[l] } } }"
)
SMALL = "kernel small(x: f32; d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] = min(s[l], max(x, sqrt(s[l]))) } }"
FETCH = "kernel fetch(d: f32[] nowhere, s: f32[4]) { for l in 0 .. 4 { d[] = s[l] } }"
WEIGHED = "kernel weighed(d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] = f32(l) * s[l] } }"

A = "A: f32[40]"
AB = "A: f32[40], B: f32[40]"
MATRICES = "A: f32[n, m], B: f32[m, 9], C: f32[n + 2, 8]"


def nest(arrays: str, body: str) -> str:
    """A kernel of sizes n, m and scalars x, y whose nest is to match."""
    return f"kernel f(n, m; x: f32, y: f32; {arrays}) {{ {body} }}"


MATCHES = [
    (FOUR, nest(AB, "for i in 0 .. 4 { A[i] = B[i] }"), "d=A[0] s=B[0]"),
    (FOUR, nest(AB, "for i in 3 .. 7 { A[i] = B[i + 2] }"), "d=A[3] s=B[5]"),
    (FOUR, nest(AB, "for i in n .. n + 4 { A[i - 1] = B[2 * n + i - m] }"), "d=A[n - 1] s=B[3 * n - m]"),
    (FOUR, nest("A: f32[n, 9], B: f32[9, 4]", "for i in 0 .. 4 { A[n - 1, i + 1] = B[m, i] }"), "d=A[n - 1, 1] s=B[m, 0]"),
    (FOUR, nest("A: f32[4, 1], B: f32[9, 9]", "for i in 0 .. 4 { A[i, 0] = B[1, i] }"), "d=A[0, 0] s=B[1, 0]"),
    (FOUR, nest("A: f32[?], B: f32[40]", "for i in 0 .. 4 { A[i] = B[i] }"), "d=A[0] s=B[0]"),
    (FOUR, nest("A: f32[?, n], B: f32[40]", "for i in 0 .. 2 + 2 { A[1, i - 4] = B[i] }"), "d=A[1, -4] s=B[0]"),
    (COPY, nest(AB, "for i in 0 .. m { A[i] = B[n + i] }"), "d=A[0] s=B[n] n=m"),
    (COPY, nest(AB, "for i in m .. 2 * n + m + 1 { A[i] = B[i] }"), "d=A[m] s=B[m] n=2 * n + 1"),
    (COPY, nest(AB, "for i in 0 .. min(n, 3) { A[i] = B[i] }"), "d=A[0] s=B[0] n=min(n, 3)"),
    (COPY, nest(A, "for i in 0 .. n { A[i] = A[i] }"), "d=A[0] s=A[0] n=n"),
    (LOAD, nest(f"R: f32[4] @v4, {A}", "for i in 0 .. 4 { R[i] = A[n + i] }"), "d=R[] s=A[n]"),
    (LOAD, nest(f"R: f32[3, 4] @v4, {A}", "for i in 2 .. 6 { R[1, i - 2] = A[i] }"), "d=R[1] s=A[2]"),
    (LOAD, nest(f"R: f32[3, 2, 2] @v4, {A}", "for i in 0 .. 4 { R[n - 2, 0, i] = A[i] }"), None),
    (STORE, nest("A: f32[9, 9], R: f32[2, 3, 4] @v4", "for i in 0 .. 4 { A[2, i] = R[1, 2, i] }"), "d=A[2, 0] s=R[1, 2]"),
    (FMA, nest("R: f32[4, 4] @v4", "for i in 0 .. 4 { R[0, i] += R[1, i] * R[2, i] }"), "a=R[1] b=R[2] d=R[0]"),
    (FMA, nest("R: f32[4, 4] @v4", "for i in 0 .. 4 { R[0, i] = R[0, i] + R[1, i] * R[2, i] }"), "a=R[1] b=R[2] d=R[0]"),
    (FMA, nest("R: f32[4, 4] @v4", "for i in 0 .. 4 { R[0, i] = R[3, i] * R[3, i] + R[0, i] }"), "a=R[3] b=R[3] d=R[0]"),
    (FMA, nest("R: f32[4, 4] @v4", "for i in 0 .. 4 { R[0, i] += R[0, i] * R[2, i] }"), "a=R[0] b=R[2] d=R[0]"),
    (LANE, nest("R: f32[4, 4] @v4", "for i in 0 .. 4 { R[0, i] += R[1, i] * R[2, 3] }"), "a=R[1] b=R[2] d=R[0] k=3"),
    (LANE, nest("R: f32[4, 4] @v4", "for i in 0 .. 4 { R[0, i] += R[2, m - 1] * R[1, i] }"), "a=R[1] b=R[2] d=R[0] k=m - 1"),
    (SET, nest(f"R: f32[4] @v4, {A}", "for i in 0 .. 4 { R[i] = x * A[n] }"), "d=R[] x=x * A[n]"),
    (AXPY, nest(AB, "for i in 0 .. n { A[i] += B[i + 1] * y }"), "d=A[0] s=B[1] n=n x=y"),
    (AXPY, nest(AB, "for i in 0 .. n { A[i] = 2.0:f32 * B[i] + A[i] }"), "d=A[0] s=B[0] n=n x=2.0:f32"),
    (AXPY, nest(AB, "for i in 0 .. n { A[i] += B[39] * B[i] }"), "d=A[0] s=B[0] n=n x=B[39]"),
    (AXPY, nest(AB, "for i in 0 .. n { A[i] += (x + y) * B[i] }"), "d=A[0] s=B[0] n=n x=x + y"),
    (MIX, nest(AB, "for i in 0 .. 4 { A[i] = B[i] * x + A[i] * y }"), "d=A[0] s=B[0] x=x y=y"),
    (MIX, nest(AB, "for i in 0 .. 4 { A[i] = x * A[i] + y * B[i] }"), "d=A[0] s=B[0] x=y y=x"),
    (CUT, nest(AB, "for i in 0 .. 4 { A[i] = select(i < m, B[i], 0.0:f32) }"), "d=A[0] s=B[0] n=m"),
    (CUT, nest(AB, "for i in 2 .. 6 { A[i] = select(i < m, B[i], 0.0:f32) }"), "d=A[2] s=B[2] n=m - 2"),
    (CUT, nest(AB, "for i in 0 .. 4 { A[i] = select(i + 4 < n, B[i + 4], 0.0:f32) }"), "d=A[0] s=B[4] n=n - 4"),
    (PAIR, nest("D: i32[9], P: i16[40], Q: i16[4, 2]", PAIRED := "for i in 0 .. 4 { for k in 0 .. 2 { D[i + 1] += i32(Q[3, k]) * i32(P[8 + 2 * i + k]) } }"), "a=P[8] b=Q[3, 0] d=D[1]"),
    (PAIR, nest("D: i32[9], P: i16[9, 2], Q: i16[4, 2]", "for i in 0 .. 4 { for k in 0 .. 2 { D[i] += i32(P[m + i, k]) * i32(Q[0, k]) } }"), "a=P[m, 0] b=Q[0, 0] d=D[0]"),
    (ROWS, nest(MATRICES, "for i in 1 .. n { for j in 0 .. m { C[i, j + 1] = A[i, j] } }"), "d=C[1, 1] s=A[1, 0] ld=8 le=m m=n - 1 n=m"),
    (ROWS, nest("A: f32[n, m, 3], B: f32[40]", "for i in 0 .. n { for j in 0 .. 2 { B[7 * i + j] = A[i, 0, j + 1] } }"), "d=B[0] s=A[0, 0, 1] ld=7 le=3 * m m=n n=2"),
    (ROWS, nest("A: f32[9, 5], B: f32[9]", "for i in 0 .. n { for j in 0 .. m { A[i, j] = B[j] } }"), "d=A[0, 0] s=B[0] ld=5 le=0 m=n n=m"),
    (PRODUCT, nest(MATRICES, "for i in 0 .. n { for j in 2 .. 6 { for k in 0 .. m { C[i + 2, j] += B[k, j] * A[i, k] } } }"), "A=A[0, 0] B=B[0, 2] C=C[2, 2] k=m lda=m ldb=9 ldc=8 m=n n=4"),
    (BELOW, nest("A: f32[9], B: f32[9, 9]", "for i in 0 .. n { for j in 0 .. i + 1 { A[i] += B[i, j] } }"), "d=A[0] s=B[0, 0] ld=9 m=n"),
    (BELOW, nest("A: f32[9], B: f32[9, 9]", "for i in 1 .. n { for j in 1 .. i + 1 { A[i] += B[i, j] } }"), "d=A[1] s=B[1, 1] ld=9 m=n - 1"),
    (NEAR, nest(AB, "for i in 1 .. 5 { A[i] = B[i + 3] - B[i + 2] }"), "d=A[1] s=B[3]"),
    (BOTH, nest(AB, "for i in 0 .. 4 { A[i] = 1.0:f32 B[i + 3] = 2.0:f32 }"), "d=A[0] e=B[3]"),
    (HALVES, nest(AB, "for i in 5 .. 9 { if i < 7 { A[i] = B[i] } else { A[i] = -B[i] } }"), "d=A[5] s=B[5]"),
    (SMALL, nest(AB, "for i in 0 .. 4 { A[i] = min(max(sqrt(B[i]), y), B[i]) }"), "d=A[0] s=B[0] x=y"),
    (FETCH, nest("P: f32[] nowhere, A: f32[40]", "for i in 0 .. 4 { P[] = A[n + i] }"), "d=P[] s=A[n]"),
    (WEIGHED, nest(AB, "for i in 2 .. 6 { A[i] = B[i] * f32(i - 2) }"), "d=A[2] s=B[2]"),
]  # fmt: skip
