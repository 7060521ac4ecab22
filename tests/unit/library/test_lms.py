"""Loops that adapt are found however they are written, and look ahead by blocks that compute the same; what only looks
like one is left."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.library.signal.lms.look_ahead import lookahead_versions
from planish.library.signal.lms.reversed_rows import turn_loop
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

TARGETS = ("x86-avx512", "x86-avx2", "aarch64-neon")
SUM = "for k in 0 .. m { y[i] += w[k] * x[i + k] }"
ERROR = "e[i] = d[i] - y[i]"
MOVE = "for k in 0 .. m { w[k] += mu * e[i] * x[i + k] }"


def nest(*body: str) -> str:
    return "for i in 0 .. n { " + "\n".join(body) + " }"


FOUND = {
    "filter": nest("y[i] = 0.0:f", SUM, ERROR, MOVE),
    "adds to what is there": nest(SUM, ERROR, MOVE),
    "samples first": nest("for k in 0 .. m { y[i] += x[i + k] * w[k] }", ERROR, MOVE),
    "in local cells": nest(
        "alloc acc: f[] distinct register\n acc[] = 0.0:f",
        "for k in 0 .. m { acc[] += w[k] * x[i + k] }",
        "y[i] = acc[]",
        "alloc s: f[] distinct register\n s[] = mu * (d[i] - acc[])\n e[i] = s[]",
        "for k in 0 .. m { w[k] += s[] * x[i + k] }",
    ),
    "subtracts": nest("e[i] = d[i]", "for k in 0 .. m { e[i] += -(w[k] * x[i + k]) }", MOVE),
    "moves back": nest(SUM, ERROR, "for k in 0 .. m { w[k] = w[k] - x[i + k] * (mu * e[i]) }"),
    "moves along others": nest(SUM, ERROR, "for k in 0 .. m { w[k] += mu * e[i] * g[i + k + 1] }"),
    "a part of the weights": nest(
        "for k in 1 .. m { y[i] += w[k - 1] * x[i + k + 2] }",
        ERROR,
        "for p in 1 .. m { w[p - 1] += mu * e[i] * x[i + p] }",
    ),
    "rows": nest(
        "for k in 0 .. m { y[i] += w[k] * z[i, k] }", ERROR, "for k in 0 .. m { w[k] += mu * e[i] * z[i, k] }"
    ),
    "adds up errors": nest(SUM, ERROR, MOVE, "c[0] += e[i] * e[i]"),
    "a step that is made of others": nest(
        SUM, ERROR, "for k in 0 .. m { w[k] += (mu * e[i] + c[0]) * x[i + k] }", "c[0] = e[i]"
    ),
    "for each signal": (
        "for r in 0 .. 2 { for i in 0 .. n { for k in 0 .. m { q[r, i] += v[r, k] * x[i + k] }"
        " for k in 0 .. m { v[r, k] += mu * q[r, i] * x[i + k] } } }"
    ),
    "samples turned": nest(
        "for k in 0 .. m { y[i] += w[k] * x[i + m - k] }", ERROR, "for k in 0 .. m { w[k] += mu * e[i] * x[i + m - k] }"
    ),
    "both turned": nest(
        "for k in 1 .. m { y[i] += w[m - k] * x[i + m - k] }",
        ERROR,
        "for p in 1 .. m { w[m - p] += mu * e[i] * x[i + m - p] }",
    ),
    "weights turned": nest(
        "for p in 1 .. m { y[i] += w[m - p] * x[i + p] }", ERROR, "for k in 1 .. m { w[m - k] += mu * e[i] * x[i + k] }"
    ),
    "the past, for each signal": (
        "for r in 0 .. 2 { for i in 0 .. n { for k in 0 .. m { q[r, i] += v[r, k] * x[i + m - k] }"
        " for k in 0 .. m { v[r, k] += mu * q[r, i] * x[i + m - k] } } }"
    ),
    "a part of the samples": f"for i in 2 .. n - 1 {{ {SUM} {ERROR} {MOVE} }}",
}
LEFT = {
    "weights of each iteration": nest(
        "for k in 0 .. m { y[i] += z[i, k] * x[i + k] }", "for k in 0 .. m { z[i, k] += y[i] * x[i + k] }"
    ),
    "weights that are read elsewhere": nest(SUM, "e[i] = d[i] - y[i] * w[0]", MOVE),
    "weights that are stored elsewhere": nest(SUM, ERROR, MOVE, "w[0] = 0.0:f"),
    "weights in the step": nest(SUM, ERROR, "for k in 0 .. m { w[k] += w[0] * x[i + k] }"),
    "samples that are stored": nest(SUM, ERROR, MOVE, "x[i + m] = e[i]"),
    "sums of what is stored": nest("for k in 0 .. m { y[i + m] += w[k] * y[i + k] }", MOVE),
    "moves along what is stored": nest(SUM, ERROR, "for k in 0 .. m { w[k] += mu * e[i + k] }"),
    "moves along what was just stored": nest(SUM, ERROR, "for k in 0 .. m { w[k] += mu * e[i + k] * y[i] }"),
    "another range": nest(SUM, ERROR, "for k in 1 .. m { w[k] += mu * e[i] * x[i + k] }"),
    "a shorter range": nest(SUM, ERROR, "for k in 0 .. m - 1 { w[k] += mu * e[i] * x[i + k] }"),
    "ranges that grow": nest(
        "for k in 0 .. i { y[i] += g[k] * x[i + k] }", ERROR, "for k in 0 .. i { g[k] += mu * e[i] * x[i + k] }"
    ),
    "other weights": nest(SUM, ERROR, "for k in 0 .. m { g[k] += mu * e[i] * x[i + k] }"),
    "weights beside": nest(SUM, ERROR, "for k in 0 .. m { w[k + 1] += mu * e[i] * x[i + k] }"),
    "a step that depends on the place": nest(SUM, ERROR, "for k in 0 .. m { w[k] += d[k] * e[i] * x[i + k] }"),
    "weights that leak": nest(SUM, ERROR, "for k in 0 .. m { w[k] = 0.5:f * w[k] + mu * e[i] * x[i + k] }"),
    "a condition": nest(SUM, ERROR, "if i < 5 { " + MOVE + " }"),
    "a condition on the sum": nest(SUM, "if i < 5 { e[i] = d[i] - y[i] }", MOVE),
    "three loops": nest(SUM, "for k in 0 .. m { e[i] += g[k] }", MOVE),
    "sums of sums": nest("for k in 0 .. m { y[i] += w[k] * x[i + k] * d[k] }", ERROR, MOVE),
    "every other weight": nest(
        "for k in 0 .. m { y[i] += g[2 * k] * x[i + k] }", ERROR, "for k in 0 .. m { g[2 * k] += e[i] * x[i + k] }"
    ),
    "a product": nest("for k in 0 .. m { y[i] *= w[k] * x[i + k] }", ERROR, MOVE),
    "into the weights": nest("for k in 0 .. m { w[m] += w[k] * x[i + k] }", ERROR, MOVE),
    "sums into many": nest("for k in 0 .. m { q[0, k] += w[k] * x[i + k] }", ERROR, MOVE),
    "backwards in time": nest(MOVE, ERROR, "for k in 0 .. m { y[i] += w[0] * x[i + k] }"),
    "one of them turned": nest(
        "for k in 0 .. m { y[i] += w[k] * x[i + m - k] }", ERROR, "for k in 0 .. m { w[k] += mu * e[i] * x[i + k] }"
    ),
    "turned about another place": nest(
        "for k in 1 .. m { y[i] += w[m - k] * x[i + k] }",
        ERROR,
        "for k in 1 .. m { w[m - k + 1] += mu * e[i] * x[i + k] }",
    ),
    "turned weights that are read elsewhere": nest(
        "for k in 0 .. m { y[i] += w[k] * x[i + m - k] }",
        "e[i] = d[i] - w[0]",
        "for k in 0 .. m { w[k] += mu * e[i] * x[i + m - k] }",
    ),
    "whole numbers": nest("for k in 0 .. m { a[i] += b[k] * h[i + k] }", "for k in 0 .. m { b[k] += a[i] * h[i + k] }"),
}


def kernel_of(body: str, kind: str = "f64") -> Kernel:
    floats = "x: f[n + m + 3], g: f[2 * n + 2 * m + 3], d: f[n + m], w: f[m + 1], y: f[n + m], e: f[n + m], c: f[1]"
    more = "z: f[n, m], q: f[2, n + m], v: f[2, m], a: i32[n], b: i32[m], h: i32[n + m]"
    text = f"kernel k(n, m; mu: f; {floats}, {more}) {{ {body} }}"
    return parse_kernel(text.replace(": f[", f": {kind}[").replace("mu: f;", f"mu: {kind};").replace(":f", f":{kind}"))


def versions_of(kernel: Kernel, target: str = "x86-avx512") -> list[Kernel]:
    return [x.kernel for x in lookahead_versions(prepare(kernel), load_target(target))]


def values_of(n: int, m: int, kind: str, exact: bool) -> dict[str, np.ndarray]:
    """Small whole numbers, so that sums are exact in whatever order; or any numbers, of which sums stay small."""
    random = np.random.default_rng(n + 100 * m)
    shapes = {
        "x": n + m + 3, "g": 2 * n + 2 * m + 3, "d": n + m, "w": m + 1, "y": n + m, "e": n + m, "c": 1, "z": (n, m),
        "q": (2, n + m), "v": (2, m),
    }  # fmt: skip
    dtype = np.float64 if kind == "f64" else np.float32
    make = (lambda x: random.integers(-1, 2, x)) if exact else (lambda x: random.uniform(-1.0, 1.0, x))
    whole = {x: random.integers(-1, 2, y).astype(np.int32) for x, y in {"a": n, "b": m, "h": n + m}.items()}
    return {**{x: make(y).astype(dtype) for x, y in shapes.items()}, **whole}


def run(kernel: Kernel, n: int, m: int, mu: float, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    out = {x: y.copy() for x, y in values.items()}
    run_kernel(kernel, {"n": n, "m": m, "mu": out["x"].dtype.type(mu), **out})
    return out


@pytest.mark.each_value
@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("target", TARGETS)
def test_whole_numbers_are_the_same(name: str, target: str) -> None:
    kernel = kernel_of(FOUND[name])
    versions = versions_of(kernel, target)
    assert len(versions) == (1 if target == "x86-avx2" else 2)
    for made in versions:
        check_kernel(made, "look-ahead")
        for n, m in ((0, 3), (1, 1), (13, 0), (6, 1), (13, 4), (9, 5), (4, 9)):
            values = values_of(n, m, "f64", exact=True)
            before, after = run(kernel, n, m, 1.0, values), run(made, n, m, 1.0, values)
            assert all(np.array_equal(before[x], after[x]) for x in before), (n, m)


@pytest.mark.each_value
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("target", TARGETS)
def test_other_numbers_are_nearly_the_same(kind: str, target: str) -> None:
    for name in ("filter", "moves along others", "rows", "samples turned"):
        kernel = kernel_of(FOUND[name], kind)
        made, *_ = versions_of(kernel, target)
        for n, m in ((25, 16), (20, 35)):
            values = values_of(n, m, kind, exact=False)
            before, after = run(kernel, n, m, 0.01, values), run(made, n, m, 0.01, values)
            near = 1e-4 if kind == "f32" else 1e-12
            assert all(np.allclose(before[x], after[x], near, near) for x in before), (name, n, m)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [("d", 7), ("d", 12), ("x", 11), ("x", 13), ("w", 2)])
def test_what_is_no_number_stays_where_it_is(bad: float, where: tuple[str, int]) -> None:
    kernel = kernel_of(FOUND["filter"])
    made, *_ = versions_of(kernel)
    n, m = 15, 5
    values = values_of(n, m, "f64", exact=True)
    values[where[0]][where[1]] = bad
    with np.errstate(invalid="ignore", over="ignore"):
        before, after = run(kernel, n, m, 1.0, values), run(made, n, m, 1.0, values)
    assert all(np.array_equal(before[x], after[x], equal_nan=True) for x in before if before[x].dtype != np.int32)


def test_sums_that_are_too_large_are_not_used() -> None:
    """Products of samples may be too large where those with small steps are not."""
    kernel = kernel_of(FOUND["filter"])
    made, *_ = versions_of(kernel)
    values = {x: y * 0 for x, y in values_of(8, 3, "f64", exact=True).items()}
    values["x"][:] = 1e200
    values["d"][:] = 1.0
    before, after = run(kernel, 8, 3, 1e-300, values), run(made, 8, 3, 1e-300, values)
    assert np.isfinite(before["y"][:2]).all() and np.array_equal(before["y"][:2], after["y"][:2])


@pytest.mark.parametrize("name", LEFT)
def test_what_only_looks_like_one_is_left(name: str) -> None:
    kernel = kernel_of(LEFT[name])
    assert not any(turn_loop(x, set(), frozenset(kernel.sizes)) for x in walk(kernel.body))
    assert not versions_of(kernel)


def test_one_kernel_may_hold_both() -> None:
    kernel = kernel_of(FOUND["filter"] + LEFT["another range"])
    made, *_ = versions_of(kernel)
    kept = [x for x in walk(made.body) if isinstance(x, For) and x.facts.instruction]
    assert kept
    values = values_of(13, 4, "f64", exact=True)
    before, after = run(kernel, 13, 4, 1.0, values), run(made, 13, 4, 1.0, values)
    assert all(np.allclose(before[x], after[x]) for x in before)


def test_machines_without_instructions_have_none() -> None:
    assert not versions_of(kernel_of(FOUND["filter"]), "generic")
