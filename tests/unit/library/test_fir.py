"""Filters are found however they are written, taken apart where that is legal, and given to the library's kernel; what
only looks like one is left."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from planish.core.cache import Cache
from planish.ir.expr import index
from planish.ir.nest import For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.signal import fir
from planish.library.signal.fir import filter_versions, name_filters
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

FORWARDS, TURNED = "planish_sliding_f32", "planish_sliding_turned_f32"
FOUND = {
    "fir": ("for i in 0 .. n { for p in 0 .. m { y[i] += h[p] * x[i + p] } }", FORWARDS),
    "samples first": ("for i in 0 .. n { for p in 0 .. m { y[i] += x[i + p + 3] * h[p] } }", FORWARDS),
    "newest first": ("for i in 0 .. n { for p in 0 .. m { y[i] += h[p] * x[i + m - 1 - p] } }", TURNED),
    "taps turned": ("for i in 0 .. n { for p in 0 .. m { y[i] += h[m - 1 - p] * x[i + p] } }", TURNED),
    "both turned": ("for i in 0 .. n { for p in 0 .. m { y[i] += h[m - 1 - p] * x[i + m - 1 - p] } }", FORWARDS),
    "set first": ("for i in 0 .. n { y[i] = 1.0:f32 for p in 0 .. m { y[i] += h[p] * x[i + p] } }", FORWARDS),
    "scaled after": (
        "for i in 0 .. n { for p in 0 .. m { y[i] += h[p] * x[i + p] } y[i] = 0.5:f32 * y[i] }", FORWARDS
    ),
    "rows": ("for s in 0 .. 4 { for i in 0 .. n { for p in 0 .. m { z[s, i] += h[p] * w[s, i + p] } } }", FORWARDS),
    "part": ("for i in 2 .. n - 1 { for p in 1 .. m { y[i] += h[p] * x[i + p - 1] } }", FORWARDS),
    "less and less": ("for i in 0 .. n { for p in 0 .. n + m - i { y[i] += x[p] * x[p + i] } }", FORWARDS),
    "later and later": ("for i in 0 .. n { for p in i .. n + m { y[i] += x[p] * x[p - i] } }", FORWARDS),
    "taps outside": ("for p in 0 .. m { for i in 0 .. n { y[i] += h[p] * x[i + p] } }", FORWARDS),
    "more and more": ("for i in 0 .. n { for p in 0 .. m + i { y[i] += g[p] * x[i + p] } }", FORWARDS),
}
LEFT = {
    "every other sample": "for i in 0 .. n { for p in 0 .. m { y[i] += h[p] * g[2 * i + p] } }",
    "every other step": "for i in 0 .. n { for p in 0 .. m { y[i] += h[p] * g[i + 2 * p] } }",
    "a product of matrices": "for i in 0 .. n { for p in 0 .. 4 { y[i] += h[p] * z[p, i] } }",
    "all into one": "for i in 0 .. n { for p in 0 .. m { y[0] += h[p] * x[i + p] } }",
    "recursive": "for i in 0 .. n { for p in 0 .. m { x[i + m] += h[p] * x[i + p] } }",
    "taps outside that move": "for p in 0 .. m { for i in 0 .. n { y[i] += x[i] * x[i + p] } }",
    "taps outside of a triangle": "for p in 0 .. m { for i in p .. n { y[i] += h[p] * x[i + p] } }",
    "taps outside, two sums": "for p in 0 .. m { for i in 0 .. n { y[i] += h[p] * x[i + p] } y[0] += h[p] }",
    "taps that move": "for i in 0 .. n { for p in 0 .. m { y[i] += g[i + p] * x[i + p] } }",
    "whole numbers": "for i in 0 .. n { for p in 0 .. m { c[i] += d[p] * e[i + p] } }",
    "a minimum": "for i in 0 .. n { for p in 0 .. m { y[i] min= h[p] * x[i + p] } }",
    "two sums": "for i in 0 .. n { for p in 0 .. m { y[i] += h[p] * x[i + p] y[i] += 1.0:f32 } }",
    "what comes after is needed before": (
        "for i in 0 .. n { for p in 0 .. m { y[i] += h[p] * x[i + p] } x[i + m] = y[i] }"
    ),
    "bounds that are no line": "for i in 0 .. n { for p in 0 .. min(m, n - i) { y[i] += h[p] * x[i + p] } }",
}


@cache
def maker() -> KernelCache:
    return KernelCache(Cache())


def kernel_of(body: str) -> Kernel:
    floats = "x: f32[2 * n + 2 * m], h: f32[m], g: f32[2 * n + 2 * m], y: f32[n], z: f32[4, n], w: f32[4, n + m]"
    return parse_kernel(f"kernel k(n, m; {floats}, c: i32[n], d: i32[m], e: i32[n + m]) {{ {body} }}")


def versions_of(kernel: Kernel, threads: int = 1) -> list[Kernel]:
    return [x.kernel for x in filter_versions(prepare(kernel), load_target("x86-avx512"), maker(), threads)]


def run(kernel: Kernel, n: int, m: int) -> dict[str, np.ndarray]:
    """Small whole numbers, so that sums are exact in whatever order."""
    random, long = np.random.default_rng(n + m), 2 * n + 2 * m
    shapes = {"x": long, "h": m, "g": long, "y": n, "z": (4, n), "w": (4, n + m), "c": n, "d": m, "e": n + m}
    values = {x: random.integers(-4, 5, y).astype(np.int32 if x in "cde" else np.float32) for x, y in shapes.items()}
    run_kernel(kernel, {"n": n, "m": m, **values})
    return values


@pytest.mark.parametrize("name", FOUND)
def test_filters_are_found(name: str) -> None:
    text, wanted = FOUND[name]
    kernel = kernel_of(text)
    (made,) = versions_of(kernel)
    assert {x.facts.instruction for x in walk(made.body) if isinstance(x, For)} == {"", wanted}
    for n, m in ((1, 1), (3, 9), (33, 7), (35, 10), (40, 1), (0, 5), (5, 0)):
        before, after = run(kernel, n, m), run(made, n, m)
        assert all(np.array_equal(before[x], after[x]) for x in before), (n, m)


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_have_parts_of_long_windows(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few sums are no work for several threads, their windows are; those of these tests would be too short."""
    monkeypatch.setattr(fir, "ALONE", 100)
    kernel = kernel_of(FOUND[name][0])
    (made,) = versions_of(kernel, threads)
    parts = [x for x in walk(made.body) if isinstance(x, For) and x.facts.parallel]
    assert len(parts) == 1 and parts[0].upper == index(threads)
    for n, m in ((33, 7), (35, 31), (40, 8), (0, 5), (5, 0)):
        before, after = run(kernel, n, m), run(made, n, m)
        assert all(np.array_equal(before[x], after[x]) for x in before), (n, m)


@pytest.mark.parametrize("name", LEFT)
def test_what_only_looks_like_one_is_left(name: str) -> None:
    assert not versions_of(kernel_of(LEFT[name]))


def test_several_filters_in_one_kernel() -> None:
    first, _ = FOUND["fir"]
    second = "for i in 0 .. n { for p in 0 .. m { z[1, i] += h[p] * x[i + m - 1 - p] } }"
    kernel = kernel_of(f"{first} {second} {LEFT['every other sample']}")
    named, found = name_filters(kernel)
    assert [x.turned for x in found] == [False, True] and named != kernel
    (made,) = versions_of(kernel)
    used = [x.facts.instruction for x in walk(made.body) if isinstance(x, For) and x.facts.instruction]
    assert used == [FORWARDS, TURNED]
    before, after = run(kernel, 34, 9), run(made, 34, 9)
    assert all(np.array_equal(before[x], after[x]) for x in before)


def test_machines_without_instructions_have_none() -> None:
    assert not filter_versions(prepare(kernel_of(FOUND["fir"][0])), load_target("generic"), maker())
