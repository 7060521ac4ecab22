"""Sums along the rows of a matrix are found however they are written, and several rows at a time compute the same;
what only looks like them is left."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.ir.types import Floats
from planish.library.dense.gemv.unroll_and_jam import dot_versions
from planish.library.driver import make_versions
from planish.library.registry import STRATEGIES
from planish.library.strategy import Context
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

TARGETS = ("x86-avx512", "x86-avx2", "aarch64-neon")
SUM = "for k in 0 .. n { y[i] += A[i, k] * x[k] }"


def rows(*body: str) -> str:
    return "for i in 0 .. m { " + "\n".join(body) + " }"


FOUND = {
    "added to what is there": rows(SUM),
    "from nothing": rows("y[i] = 0.0:f", SUM),
    "in a local cell": rows(
        "alloc s: f[] distinct register\n s[] = 0.0:f", "for k in 0 .. n { s[] += x[k] * A[i, k] }", "y[i] = s[]"
    ),
    "with factors": rows("y[i] = c[0] * y[i]", "for k in 0 .. n { y[i] += w * A[i, k] * x[k] }"),
    "subtracted": rows("y[i] = 0.0:f", "for k in 0 .. n { y[i] = y[i] - A[i, k] * x[k] }"),
    "two matrices": rows(
        "z[i] = 0.0:f\n y[i] = 0.0:f",
        "for k in 0 .. n { z[i] += A[i, k] * x[k]\n y[i] += B[i, k] * x[k] }",
        "y[i] = w * z[i] + y[i]",
    ),
    "rows of two matrices": rows("for k in 0 .. n { y[i] += A[i, k] * B[i, k] }"),
    "lengths of rows": rows("y[i] = 0.0:f", "for k in 0 .. n { y[i] += A[i, k] * A[i, k] }"),
    "a part of them": "for i in 2 .. m - 1 { for k in 1 .. n { z[i - 1] += A[i, k] * x[k - 1] } }",
    "later elements": rows("for k in 0 .. n - 2 { y[i] += A[i, k + 2] * x[k] }"),
    "rows from the other end": rows("for k in 0 .. n { y[i] += A[m - 1 - i, k] * x[k] }"),
    "all into one": rows("for k in 0 .. n { c[0] += A[i, k] * x[k] }", "y[i] = c[0]"),
    "each with what was before": rows("for k in 0 .. n { c[0] += A[i, k] * x[k] }", "y[i] += c[0]", "c[0] = y[i]"),
    "many matrices": "for b in 0 .. 2 { for i in 0 .. m { for k in 0 .. n { Y[b, i] += T[b, i, k] * X[b, k] } } }",
    "one after the other": rows(SUM) + rows("for k in 0 .. n { z[i] += B[i, k] * y[0] * x[k] }"),
}
ELSEWHERE = ("with factors", "two matrices", "rows of two matrices", "a part of them")
"""Those that are tried with other vectors, too: masks, or the last elements one by one."""
LEFT = {
    "columns": rows("for k in 0 .. n { z[i] += S[k, i] * x[k] }"),
    "what is stored": rows("for k in 0 .. m { y[i] += S[i, k] * y[k] }"),
    "what is stored elsewhere": rows(SUM, "x[0] = y[i]"),
    "rows that change": rows(SUM, "A[i, 0] = y[i]"),
    "rows that grow": rows("for k in 0 .. i { y[i] += S[i, k] * z[k] }"),
    "the places of a filter": rows("for k in 0 .. n { y[i] += v[i + k] * x[k] }"),
    "a product of matrices": "for j in 0 .. m { for i in 0 .. m { for k in 0 .. n { S[j, i] += A[j, k] * B[i, k] } } }",
    "a sum": rows("for k in 0 .. n { y[i] += A[i, k] }"),
    "three factors": rows("for k in 0 .. n { y[i] += A[i, k] * B[i, k] * x[k] }"),
    "every other element": rows("for k in 0 .. n { y[i] += T[0, i, k] * v[2 * k] }"),
    "a product of all": rows("for k in 0 .. n { y[i] *= A[i, k] * x[k] }"),
    "into a row": rows("for k in 0 .. n { S[i, k] += A[i, k] * x[k] }"),
    "a row as well": rows("for k in 0 .. n { y[i] += A[i, k] * x[k]\n z[k] += A[i, k] * w }"),
    "a factor that changes with the sum": rows("for k in 0 .. n { c[0] += c[1] * A[i, k] * x[k] }"),
    "a condition": rows("for k in 0 .. n { if k < i { y[i] += A[i, k] * x[k] } }"),
    "a second loop": rows(SUM, "for k in 0 .. n { z[i] += A[i, k] }"),
    "whole numbers": rows("for k in 0 .. n { a[i] += W[i, k] * b[k] }"),
}


def kernel_of(body: str, kind: str = "f64") -> Kernel:
    floats = "A: f[m, n], B: f[m, n], S: f[m, m + n], T: f[2, m, n], X: f[2, n], Y: f[2, m]"
    more = "x: f[n], y: f[m], z: f[m + n], v: f[m + 2 * n], c: f[2], W: i32[m, n], a: i32[m], b: i32[n]"
    text = f"kernel k(m, n; w: f; {floats}, {more}) {{ {body} }}"
    return parse_kernel(text.replace(": f[", f": {kind}[").replace("w: f;", f"w: {kind};").replace(":f", f":{kind}"))


def versions_of(kernel: Kernel, target: str = "x86-avx512") -> list[Kernel]:
    return [x.kernel for x in dot_versions(prepare(kernel), load_target(target))]


def values_of(kernel: Kernel, m: int, n: int, exact: bool) -> dict[str, np.ndarray]:
    """Small whole numbers, so that sums are exact in whatever order; or any numbers."""
    random = np.random.default_rng(m + 100 * n)
    shapes = {
        "A": (m, n), "B": (m, n), "S": (m, m + n), "T": (2, m, n), "X": (2, n), "Y": (2, m), "x": n, "y": m,
        "z": m + n, "v": m + 2 * n, "c": 2, "W": (m, n), "a": m, "b": n,
    }  # fmt: skip
    types = {x.name: {"f32": np.float32, "f64": np.float64, "i32": np.int32}[str(x.type)] for x in kernel.arrays}
    make = (lambda x: random.integers(-2, 3, x)) if exact else (lambda x: random.uniform(-1.0, 1.0, x))
    return {x: np.asarray(make(y)).astype(types[x]) for x, y in shapes.items()}


def run(kernel: Kernel, m: int, n: int, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    out = {x: y.copy() for x, y in values.items()}
    run_kernel(kernel, {"m": m, "n": n, "w": out["x"].dtype.type(3), **out})
    return out


@pytest.mark.parametrize(
    ("name", "target"), [(x, y) for x in FOUND for y in TARGETS if y == TARGETS[0] or x in ELSEWHERE]
)
def test_whole_numbers_are_the_same(name: str, target: str) -> None:
    kernel = kernel_of(FOUND[name])
    versions = versions_of(kernel, target)
    assert len(versions) == (1 if target == "x86-avx2" and name == "two matrices" else 2)
    for made in versions:
        check_kernel(made, "dots")
        for m, n in ((0, 3), (1, 1), (3, 0), (4, 8), (13, 5), (29, 9), (8, 17)):
            values = values_of(kernel, m, n, exact=True)
            before, after = run(kernel, m, n, values), run(made, m, n, values)
            assert all(np.array_equal(before[x], after[x]) for x in before), (m, n)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_other_numbers_are_nearly_the_same(kind: str) -> None:
    for name in ("with factors", "two matrices", "many matrices"):
        kernel = kernel_of(FOUND[name], kind)
        for made in versions_of(kernel):
            values = values_of(kernel, 27, 35, exact=False)
            before, after = run(kernel, 27, 35, values), run(made, 27, 35, values)
            near = 1e-4 if kind == "f32" else 1e-12
            assert all(np.allclose(before[x], after[x], near, near) for x in before), name


def test_sums_that_are_infinite_stay_infinite() -> None:
    kernel = kernel_of(FOUND["from nothing"])
    for made in versions_of(kernel):
        for bad in (np.nan, np.inf, -np.inf):
            values = values_of(kernel, 14, 11, exact=True)
            values["A"][:] = abs(values["A"]) + 1
            values["x"][:] = 1.0
            values["A"][5, 3] = values["A"][13, 10] = bad
            before, after = run(kernel, 14, 11, values), run(made, 14, 11, values)
            assert np.array_equal(before["y"], after["y"], equal_nan=True)
            assert np.isfinite(after["y"]).sum() == 12


@pytest.mark.parametrize("name", LEFT)
def test_what_only_looks_like_one_is_left(name: str) -> None:
    assert not versions_of(kernel_of(LEFT[name]))


def test_one_kernel_may_hold_both() -> None:
    kernel = kernel_of(FOUND["from nothing"] + LEFT["columns"])
    made, *_ = versions_of(kernel)
    assert any(isinstance(x, For) and x.facts.instruction for x in walk(made.body))
    values = values_of(kernel, 17, 6, exact=True)
    before, after = run(kernel, 17, 6, values), run(made, 17, 6, values)
    assert all(np.array_equal(before[x], after[x]) for x in before)


@pytest.mark.parametrize("reassociate", [False, True])
def test_sums_are_made_in_another_order_where_they_may_be(reassociate: bool) -> None:
    fp: Floats = "reassociate" if reassociate else "strict"
    cx = Context.of(kernel_of(FOUND["from nothing"]), load_target("x86-avx512"), fp)
    names = [x.name for x in make_versions(cx, STRATEGIES).versions]
    assert ("gemv-rows" in names) == ("gemv-rows-8" in names) == reassociate


def test_machines_without_instructions_have_none() -> None:
    assert not versions_of(kernel_of(FOUND["from nothing"]), "generic")
