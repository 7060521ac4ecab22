"""Several iterations of a loop that doubles or halves its counter, as one kernel, or none where that is not proven."""

from __future__ import annotations

import numpy as np
import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import Region
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.printer import print_expr

NEST = "for (int i = 0; i < n; i += 2 * h) for (int j = i; j < i + h; j++) { a[j + h] -= a[j]; a[j] += a[j + h]; }"


def read(loop: str, parameters: str = "float *a, int n, int m", before: str = "") -> Region:
    """The region in a loop, which there is."""
    text = f"int g; void f({parameters}) {{ {before} {loop} }}"
    (region,) = read_c(Source("a.c", text)).functions[0].regions
    return region


@pytest.mark.parametrize(
    ("head", "counter", "last", "asked"),
    [
        ("for (int h = 1; h < n; h *= 2) {", "h", "8 * h", "8 * h - n < 0"),
        ("for (int h = 1; h <= m; h <<= 1) {", "h", "8 * h", "8 * h - m <= 0"),
        ("for (int h = 1; n > h; h = h + h) {", "h", "8 * h", "n - 8 * h > 0"),
        ("for (long h = m; h; h /= 2) {", "h", "h", "h != 0"),
        ("for (int h = m; h >= 1; h = h >> 1) {", "h", "h", "h - 1 >= 0"),
        ("for (int s = 0; s < m; s++) { int h = 1 << s;", "s", "s + 3", "s - m + 3 < 0"),
        ("for (int s = m; s > 0; s--) { int h = 4 << s;", "s", "s - 3", "s - 3 > 0"),
        ("for (int k = 2; k <= n; k *= 2) { int h = k / 2;", "k", "16 * h", "16 * h - n <= 0"),
    ],
)
def test_loops_that_double_or_halve(head: str, counter: str, last: str, asked: str) -> None:
    stages = read(f"{head} {NEST} }}").stages
    assert [len(x.kernel.body.body) for x in stages] == [4, 3, 2, 1]
    (update,) = stages[0].updates
    assert (update.variable, update.kind, print_expr(update.value)) == (counter, "set", last)
    assert asked in map(print_expr, stages[0].kernel.assumptions)


@pytest.mark.parametrize(
    ("head", "step"),
    [
        ("for (int h = 1; h < n; h *= 2) { int t = m / (2 * h);", "m / (16*h)"),
        ("for (int k = 2; k <= n; k *= 2) { int h = k / 2, t = m / k;", "m / (16*h)"),
        ("for (int h = m; h > 0; h /= 2) { int t = n / h;", "n / (h)"),
        ("for (int s = 0; s < m; s++) { int h = 1 << s, t = n >> s;", "n / (8*h)"),
        ("for (int h = 1; h < n; h *= 2) { int t = 4096 / h;", "(4096) / (8*h)"),
        ("for (int s = 0; s < m; s++) { int h = 1 << s, t = (1 << 10) >> s;", "(1024) / (8*h)"),
        ("int t = m; for (int h = 1; h < n; h *= 2, t /= 2) {", "t / 8"),
        ("int t = 1; for (int h = m; h > 0; t <<= 1, h >>= 1) {", "t"),
    ],
)
def test_sizes_that_go_the_other_way(head: str, step: str) -> None:
    nest = NEST.replace("a[j + h] -=", "a[j + h] -= w[(j - i) * t] *")
    before, at, loop = head.rpartition("for (int ")
    region = read(f"{at}{loop} {nest} }}", "float *a, const float *w, int n, int m", before)
    named = dict(region.stages[0].names)
    assert step in named["t"].replace("(long long)", "").replace("(m)", "m").replace("(n)", "n").replace("(t)", "t")
    asked = map(print_expr, region.stages[0].kernel.assumptions)
    assert "t >= 0" in asked


@pytest.mark.parametrize("braces", [("", ""), ("{", "}"), ("{ for (int k = 1; k < m; k *= 2) {", "} }")])
def test_loops_around_them_change_nothing(braces: tuple[str, str]) -> None:
    text = f"for (int f = 0; f < m; f++) {braces[0]} for (int h = 1; h < n; h *= 2) {NEST} {braces[1]}"
    assert [len(x.kernel.body.body) for x in read(text).stages] == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("loop", "updates"),
    [
        ("int h = 1; while (h < n) { %s h *= 2; }", ["h"]),
        ("int k = 1; while (k < n) { int h = k; %s k = k << 1; }", ["k"]),
        ("int h = m; while (h) { %s h /= 2; }", ["h"]),
        ("for (int h = 1; h < n; h *= 2) { %s m /= 2; }", ["m", "h"]),
        ("for (int h = 1; h < n;) { %s h += h; m >>= 1; }", ["h", "m"]),
        ("int h = 1; while (h < n) { %s m >>= 1; h *= 2; }", ["m", "h"]),
    ],
)
def test_counters_may_advance_behind_the_nest(loop: str, updates: list[str]) -> None:
    nest = NEST.replace("a[j + h] -=", "a[j + h] -= w[(j - i) * m] *") if "m" in updates else NEST
    region = read(loop % nest, "float *a, const float *w, int n, int m")
    assert [len(x.kernel.body.body) for x in region.stages] == [4, 3, 2, 1]
    assert sorted(x.variable for x in region.stages[0].updates) == sorted(updates)


@pytest.mark.parametrize(
    "loop",
    [
        "int h = 1; while (h < n) { h *= 2; %s }",
        "int h = 1; while (h < n) { %s h *= 2; a[0] += 1; }",
        "int h = 1; while (h < n) { %s h *= 2; h *= 2; }",
        "int h = 1; while (h < n) { %s h *= 2; n--; }",
        "int h = 1; while (h < n) { %s if (n > 5) h *= 2; }",
        "int h = 1; while (h < n) { %s h *= 2; { } %s }",
        "int h = 1; while (h < n) %s",
        "for (int h = 1; h < n; h *= 2) { %s h *= 2; }",
        "for (int h = 1; h < n; h *= 2) { %s m--; }",
    ],
)
def test_what_is_done_behind_the_nest_otherwise(loop: str) -> None:
    text = f"void f(float *a, int n, int m) {{ {loop.replace('%s', NEST)} }}"
    assert not any(x.stages for f in read_c(Source("a.c", text)).functions for x in f.regions)


ROOTED = "for (int j = 0; j < h; j++) for (int i = j; i < n; i += w) { a[i + h] -= a[i]; a[i] += a[i + h]; }"


@pytest.mark.parametrize(
    ("head", "tail", "last"),
    [
        ("for (k = 0; k < m; k++) { w = h; h = h / 2;", "}", "h"),
        ("for (k = m; k > 0; k--) { w = h; h >>= 1;", "}", "h"),
        ("for (k = n; k > 1; k /= 2) { w = h; h /= 2;", "}", "h"),
        ("for (k = 0; k < m; k++) { w = 2 * h;", "h *= 2; }", "8 * h"),
        ("k = 1; while (k < m) { h <<= 1; w = h * 2;", "k += k; }", "8 * h"),
        ("while (h > 1) { w = h; h >>= 1;", "}", "h"),
        ("while (h >= 2) { w = h; h >>= 1;", "m *= 2; }", "h"),
    ],
)
def test_sizes_need_not_follow_from_the_counter(head: str, tail: str, last: str) -> None:
    stages = read(f"int k, w; {head} {ROOTED} {tail}", "float *a, int n, int m, int h").stages
    assert [len(x.kernel.body.body) for x in stages] == [4, 3, 2, 1]
    assert {"h": last}.items() <= {x.variable: print_expr(x.value) for x in stages[0].updates}.items()
    asked = [print_expr(x) for x in stages[-1].kernel.assumptions]
    assert any("w" in x and "==" in x for x in asked), asked


@pytest.mark.parametrize(
    "loop",
    [
        "for (k = 0; k < m; k++) { w = h; h = h / 3; %s }",
        "for (k = 0; k < m; k++) { w = h + 1; h = h / 2; %s }",
        "for (k = 0; k < m; k++) { h = h / 2; w = n; %s }",
        "for (k = 0; k < m; k++) { w = h; h = h / 2; m = m / 2; %s }",
        "for (k = 0; k < m; k++) { w = h; h = h / 2; %s h++; }",
        "while (h < m) { w = h; h = h * 2; %s }",
        "while (h > 1) { w = h; %s h = h / 2 + 1; }",
        "for (k = 0; k < m; k += 2) { w = h; h = h / 2; %s }",
        "for (k = 0; k < h; k++) { w = h; h = h / 2; %s }",
        "for (k = 0; k < m; k++) { w = h; h = h / 2; %s } a[0] = w;",
        "for (k = 0; k < m; k++) { w = h; h = h / 2; %s }".replace("%s", ROOTED.replace("a[i] +=", "a[i] += k +")),
    ],
)
def test_sizes_that_follow_from_nothing(loop: str) -> None:
    text = f"void f(float *a, int n, int m, int h) {{ int k, w; {loop.replace('%s', ROOTED)} }}"
    assert not any(x.stages for f in read_c(Source("a.c", text)).functions for x in f.regions)


def test_a_base_of_four_has_fewer_stages() -> None:
    nest = NEST.replace("2 * h", "4 * h")
    assert [len(x.kernel.body.body) for x in read(f"for (int h = 1; h < n; h *= 4) {nest}").stages] == [2, 1]


@pytest.mark.parametrize(
    "loop",
    [
        f"for (int h = 1; h < n; h *= 3) {NEST}",
        f"for (int h = 1; h < n; h += 2) {NEST}",
        f"for (int h = 1; h != n; h *= 2) {NEST}",
        f"for (int h = m; h < n; h /= 2) {NEST}",
        f"for (int h = 1; h < n; h *= 2) {{ {NEST} if (a[0] > 1) break; }}",
        f"for (int h = 1; h < n; h *= 2) {{ n--; {NEST} }}",
        f"for (int h = 1; h < n; h *= 2) {{ int k = g++; {NEST} }}",
        f"for (int h = 1; h < m; h *= 2) {{ int m = h; {NEST} }}",
        f"for (int h = 1; h < g; h *= 2) {NEST}",
        f"for (short h = 1; h < n; h *= 2) {NEST}",
        f"for (int k = 1; k < n; k *= 2) {{ int h = k + 1; {NEST} }}",
        f"for (int k = 1; k < n; k *= 2) {{ int h = 1 << k; {NEST} }}",
        f"int h; for (int k = 1; k < n; k *= 2) {{ h = k; {NEST} }} a[0] = h;",
        f"for (int h = 1; h < n; h *= 2, m++) {NEST}",
        f"for (int h = 1;; h *= 2) {{ {NEST} }}",
        f"for (int h = 1; h < n; h *= 2, m *= 2) {NEST}",
        f"for (int h = 1; h < n; h *= 2, m /= 4) {NEST}",
        f"for (int h = 1; h < m; h *= 2, m /= 2) {NEST}",
        f"for (int h = 1; h < n; h *= 2, m /= 2) {{ {NEST} m = 3; }}",
        f"for (int h = 1; h < n; h *= 2) {{ int t = g / h; {NEST.replace('-=', '-= t *')} }}",
        f"for (int h = 1; h < n; h *= 2) {{ int n = 3, t = n / h; {NEST.replace('-=', '-= a[t] *')} }}",
        f"for (int h = 1; h < n; h *= 2) {{ short t = m / h; {NEST.replace('-=', '-= a[t] *')} }}",
        f"for (int h = 1; h < n; h *= 2) {{ short t = 70000 / h; {NEST.replace('-=', '-= a[t] *')} }}",
        f"for (int h = 1; h < n; h *= 2) {{ int t = -64 / h; {NEST.replace('-=', '-= a[-t] *')} }}",
        f"int t; for (int h = 1; h < n; h *= 2) {{ t = m / h; {NEST} }} a[0] = t;",
        f"for (int h = 1; h < n; h *= 2) {{ {NEST} a++; }}",
        f"for (int h = 1; h < n; h *= 2) {{ {NEST.replace('i < n', 'i < m / h')} }}",
    ],
)
def test_other_loops_stay(loop: str) -> None:
    text = f"int g; void f(float *a, int n, int m) {{ {loop} }}"
    assert not any(x.stages for f in read_c(Source("a.c", text)).functions for x in f.regions)


@pytest.mark.parametrize("fall", [False, True])
def test_stages_mean_what_iterations_do(fall: bool) -> None:
    region = read(f"for (int h = {'m; h > 0; h /= 2' if fall else '1; h < n; h *= 2'}) {NEST}", "int *a, int n, int m")
    three = next(x for x in region.stages if len(x.kernel.body.body) == 3).kernel
    count, spans = 48, (12, 6, 3) if fall else (3, 6, 12)
    want = np.arange(count, dtype="int32") ** 2 % 17
    got = want.copy()
    for h in spans:
        run_kernel(region.kernel, {"h": h, "i_steps": count // (2 * h), "a": want})
    run_kernel(three, {"h": 3, "i_steps": 2, **dict.fromkeys(three.sizes[2:], count), "a": got})
    assert np.array_equal(got, want)
