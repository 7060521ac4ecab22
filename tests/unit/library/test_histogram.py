"""Histograms in tables: which nests are some, and that tables, for any number of threads, hold what is counted."""

from __future__ import annotations

import numpy as np
import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.checker import check_kernel
from planish.ir.nest import For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.traverse import walk
from planish.library.loops import histogram
from planish.library.loops.histogram import counting_versions
from planish.poly.idioms.histogram import find_counting
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

SHARED = "histogram-private, parallel-loops"
HEAD = (
    "void k(int n, int m, const unsigned char x[n], const int w[n], int h[256], int g[16],"
    " const unsigned char p[m][n])"
)
COUNTS = {
    "one": "for (int i = 0; i < n; i++) h[x[i]]++;",
    "fewer": "for (int i = 3; i < n; i++) h[x[i]] -= 2;",
    "spelt out": "for (int i = 0; i < n; i++) { h[x[i]] = h[x[i]] + w[i]; g[x[i] & 15] = 1 + g[x[i] & 15]; }",
    "taken off": "for (int i = 0; i < n; i++) h[x[i]] = h[x[i]] - 2;",
    "weights": "for (int i = 0; i < n; i++) h[x[i]] += w[i] * 3;",
    "a part of a byte": "for (int i = 0; i < n; i++) g[x[i] >> 4]++;",
    "a name": "for (int i = 0; i < n; i++) { int b = x[i] & 63; h[b] += w[i]; }",
    "two": "for (int i = 0; i < n; i++) { h[x[i]]++; g[x[i] & 15] += w[i]; }",
    "rows": "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) h[p[j][i]]++;",
    "a range of integers": "for (int i = 0; i < n; i++) if (w[i] >= -4 && !(w[i] > 8)) h[w[i] + 4]++;",
    "a cell's range": "for (int i = 0; i < n; i++) { int b = w[i] * 9; if (b < 0) b = 0; if (b > 60) b = 60; h[b]++; }",
    "cleared before": "for (int i = 0; i < 256; i++) h[i] = 0; for (int i = 0; i < n; i++) h[x[i]]++;",
}
OTHERS = {
    "what may be anything": "for (int i = 0; i < n; i++) h[w[i]]++;",
    "a count that is read": "for (int i = 0; i < n; i++) { h[x[i]]++; g[x[i] & 15] += h[0]; }",
    "a count that is set": "for (int i = 0; i < n; i++) { h[x[i]]++; h[3] = 0; }",
    "another element": "for (int i = 0; i < n; i++) h[x[i]] = h[x[i + 1]] + 1;",
    "taken from": "for (int i = 0; i < n; i++) h[x[i]] = 1 - h[x[i]];",
    "no sum": "for (int i = 0; i < n; i++) h[x[i]] *= 3;",
    "a place that counts choose": "for (int i = 0; i < n; i++) if (w[i]) h[(x[i] + h[0]) & 255]++;",
    "a place in bins behind a condition": "for (int i = 0; i < n; i++) if (w[i]) h[h[i & 3] & 7]++;",
    "another element as well": "for (int i = 0; i < n; i++) { if (x[i] & 1) h[x[i] >> 1]++; else h[255]--; }",
    "all elements in turn as well": "for (int i = 0; i < n; i++) { h[x[i] >> 4]++; h[i] += 2; }",
    "an array that is too short": "for (int i = 0; i < n; i++) g[x[i]]++;",
    "a range that is too wide": "for (int i = 0; i < n; i++) if (w[i] >= -1 && w[i] < 16) g[w[i]]++;",
    "a range of something else": "for (int i = 0; i < n; i++) if (w[i] >= 0 && w[i] < 16) g[w[i] + x[i + 1]]++;",
    "a range before": "for (int i = 0; i < n; i++) { int b = w[i]; if (b < 0) b = 9; b = b - 1; if (b < 16) g[b]++; }",
    "a search for some": (
        "for (int i = 0; i < n; i++) { int c = w[i]; for (int r = 0; r < 16; r++) g[r] += c == r ? 1 : 0; }"
    ),
    "a search for some bytes": (
        "for (int i = 0; i < n; i++) { unsigned char c = x[i]; for (int r = 0; r < 16; r++) g[r] += c == r ? 1 : 0; }"
    ),
}


def read(body: str, fp: str = "reassociate") -> list[Kernel]:
    source = Source("k.c", f"{HEAD} {{ {body} }}")
    return [x.kernel for x in read_c(source, fp=fp).functions[0].regions]


def run(kernel: Kernel, n: int, m: int) -> list[np.ndarray]:
    random = np.random.default_rng(n)
    arrays = {
        "x": random.integers(0, 256, n).astype(np.uint8), "w": random.integers(-9, 9, n).astype(np.int32),
        "h": random.integers(-9, 9, 256).astype(np.int32), "g": random.integers(-9, 9, 16).astype(np.int32),
        "p": random.integers(250, 256, (m, n)).astype(np.uint8),
    }  # fmt: skip
    names = {x.name for x in kernel.arrays}
    given = {x: y for x, y in {"n": n, "m": m}.items() if x in kernel.sizes}
    run_kernel(kernel, given | {x: y for x, y in arrays.items() if x in names})
    return [arrays["h"], arrays["g"]]


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("threads", [1, 3])
def test_tables_hold_what_is_counted(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histogram, "WORTH", -1)
    monkeypatch.setattr(histogram, "OFTEN", 0)
    kernel = read(COUNTS[name])[-1]
    made = counting_versions(kernel, prepare(kernel), load_target("x86-avx2"), threads)
    assert [x.name for x in made] == [*([SHARED] if threads > 1 else []), "histogram-private"]
    for version in made:
        check_kernel(version.kernel, version.name)
        for n, m in ((0, 1), (1, 0), (2, 3), (3, 1), (4, 2), (7, 5), (61, 3)):
            for a, b in zip(run(version.kernel, n, m), run(kernel, n, m), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_count_stays_as_it_is_written(name: str) -> None:
    assert not [x for x in read(OTHERS[name]) if find_counting(x) is not None]


def test_sums_of_floats_are_counted_where_their_order_does_not_matter() -> None:
    source = Source("k.c", "void k(int n, const unsigned char x[n], float h[256]) {"
                    " for (int i = 0; i < n; i++) h[x[i]] += 0.5f; }")  # fmt: skip
    found = [len(read_c(source, fp=fp).functions[0].regions) for fp in ("reassociate", "contract", "strict")]
    assert found == [1, 0, 0]


def test_integers_are_counted_whatever_floats_may_do() -> None:
    assert read(COUNTS["one"], "strict")


def test_large_tables_are_not_made_twice() -> None:
    source = Source("k.c", "void k(int n, const unsigned short x[n], int h[65536]) {"
                    " for (int i = 0; i < n; i++) h[x[i]]++; }")  # fmt: skip
    kernel = read_c(source).functions[0].regions[0].kernel
    target = load_target("x86-avx2")
    assert not counting_versions(kernel, prepare(kernel), target)
    assert [x.name for x in counting_versions(kernel, prepare(kernel), target, 2)] == [SHARED]


def test_a_nest_that_stores_something_else_is_not_shared() -> None:
    text = "for (int i = 0; i < n; i++) { h[x[i]]++; g[i & 15] = 3; }"
    kernel = read(text)[-1]
    made = counting_versions(kernel, prepare(kernel), load_target("x86-avx2"), 2)
    assert all(not x.facts.parallel for v in made for x in walk(v.kernel.body) if isinstance(x, For))
