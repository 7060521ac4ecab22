"""Small products, and the sizes from which on scans and transpositions are worth their beginning.

>>> small("f64", 8), small("f64", 64)
(True, False)
"""

from __future__ import annotations

import pytest

from planish.build.lower import lower_plan
from planish.build.plan import plan_region
from planish.build.read import read_file
from planish.core.span import Source
from planish.ir.text.parser import parse_expr, parse_kernel
from planish.ir.text.printer import print_expr
from planish.library.driver import make_versions
from planish.library.least_sizes import with_least_sizes
from planish.library.registry import STRATEGIES
from planish.library.strategies.dense.operations import OPERATIONS
from planish.library.strategy import BEHIND, Context
from planish.options import Options
from planish.target.load import load_target

POINTS = "for i in 0 .. n {{ for j in 0 .. {k} {{ for l in 0 .. {k} {{ c[i, j] += a[i, l] * b[j, l] }} }} }}"
MANY = "for i in 0 .. n {{ for j in 0 .. {k} {{ for r in 0 .. {k} {{ for l in 0 .. {k} {{ c[i, j, r] += a[i, j, l] * b[i, l, r] }} }} }} }}"  # noqa: E501
SCAN = "for i in 1 .. n { y[i] = y[i - 1] + x[i] }"
TURNED = "kernel k(m, n; y: f64[n, m] distinct, x: f64[m, n] distinct) { for i in 0 .. m { for j in 0 .. n { y[j, i] = x[i, j] } } }"  # noqa: E501


def small(kind: str, k: int, body: str = POINTS, shape: str = "") -> bool:
    """Whether products of that many rows and columns are no gain for kernels."""
    arrays = ", ".join(f"{x}: {kind}[{y}] distinct" for x, y in (
        ("c", f"n, {k}{shape}"), ("a", f"n, {k}{shape}"), ("b", f"n, {k}{shape}" if shape else f"{k}, {k}")
    ))  # fmt: skip
    kernel = parse_kernel(f"kernel p(n; {arrays}) {{ {body.format(k=k)} }}")
    cx = Context.of(kernel, load_target("x86-avx512"))
    (found,) = OPERATIONS.match(cx)
    return OPERATIONS.cost_of(cx, found) == BEHIND


@pytest.mark.parametrize(("kind", "k", "expected"), [("f32", 3, True), ("f32", 16, True), ("f64", 48, False)])
def test_small_products_are_loops(kind: str, k: int, expected: bool) -> None:
    assert small(kind, k) == expected


@pytest.mark.parametrize(("k", "expected"), [(4, True), (8, True), (32, False)])
def test_many_small_products_are_loops(k: int, expected: bool) -> None:
    assert small("f32", k, MANY, f", {k}") == expected


def asked(text: str) -> dict[str, set[str]]:
    """What the versions of a kernel ask of sizes."""
    cx = Context.of(parse_kernel(text), load_target("x86-avx512"))
    made = make_versions(cx, STRATEGIES, 2)
    return {x.name: {*map(print_expr, x.kernel.assumptions)} for x in made.versions}


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_scans_ask_for_some_values(kind: str) -> None:
    text = f"kernel k(n; y: {kind}[n] distinct, x: {kind}[n] distinct) {{ {SCAN} }}"
    assert "n >= 65" in asked(text)["simd-scan"]


def test_transpositions_ask_for_rows_and_columns() -> None:
    assert {"m >= 16", "n >= 16"} <= asked(TURNED)["operations"]


def gaining(text: str, **computed: str) -> set[str]:
    """What the first version of a kernel asks of sizes where nothing is timed; some are computed."""
    cx = Context.of(parse_kernel(text), load_target("x86-avx512"))
    before = make_versions(cx, STRATEGIES, 1)
    sizes = [(x, parse_expr(y)) for x, y in computed.items()]
    after = with_least_sizes(cx, before, sizes).versions[0].kernel.assumptions
    return {print_expr(x) for x in after if x not in before.versions[0].kernel.assumptions}


@pytest.mark.parametrize(("kind", "body", "expected"), [
    ("f32", "y[i] = x[i] + 1.0:f32", {"n >= 128"}),
    ("i32", "s[] += x[i]", {"n >= 512"}),
    ("i32", "s[] max= x[i]", {"n >= 512"}),
    ("u8", "y[i] = max(x[i], 9:u8)", set()),
    ("u8", "y[i] = max(y[i], 9:u8)", {"n >= 256"}),
    ("f32", "s[] += x[i]", {"n >= 32"}),
])  # fmt: skip
def test_loops_that_compilers_make_lanes_of_have_to_be_long(kind: str, body: str, expected: set[str]) -> None:
    arrays = f"s: {kind}[] distinct, y: {kind}[n] distinct, x: {kind}[n] distinct"
    assert gaining(f"kernel k(n; {arrays}) {{ for i in 0 .. n {{ {body} }} }}") == expected


@pytest.mark.parametrize(("body", "expected"), [
    ("y[j, i] = x[i, j] + 1:i32", {"m >= 16", "n >= 16"}),
    ("x[i, j + 1] = x[i, j + 1] + 3:i32 * x[i, j]", {"m >= 16", "n >= 17"}),
])  # fmt: skip
def test_tiles_need_rows_and_columns(body: str, expected: set[str]) -> None:
    columns = "n - 1" if "j + 1" in body else "n"
    arrays = "y: i32[n, m] distinct, x: i32[m, n] distinct"
    nest = f"for i in 0 .. m {{ for j in 0 .. {columns} {{ {body} }} }}"
    assert gaining(f"kernel k(m, n; {arrays}) {{ {nest} }}") == expected


@pytest.mark.parametrize(("computed", "expected"), [
    ("min(n, 31)", set()), ("n % 64", set()), ("min(n, 600) - 1", {"m >= 512"}), ("max(n, 31)", {"m >= 512"}),
])  # fmt: skip
def test_no_size_is_asked_for_that_no_call_has(computed: str, expected: set[str]) -> None:
    text = "kernel k(m; s: i32[] distinct, x: i32[m] distinct){} {{ for i in 0 .. m {{ s[] += x[i] }} }}"
    assert gaining(text.format(""), m=computed) == expected
    assert gaining(text.format(" assume m <= 64")) == set()


@pytest.mark.parametrize(("kind", "expected"), [("i32", {"h - l >= 512"}), ("f32", {"h - l >= 32"})])
def test_loops_from_one_size_to_another_are_as_long_as_others(kind: str, expected: set[str]) -> None:
    arrays = f"s: {kind}[] distinct, x: {kind}[h] distinct"
    assert gaining(f"kernel k(l, h; {arrays}) {{ for i in l .. h {{ s[] += x[i] }} }}") == expected


@pytest.mark.parametrize(("body", "expected"), [
    ("o[y, x] = max(o[y, x], 9:u8)", {"w >= 256"}),
    ("o[2 * y, x] = max(o[2 * y + 1, x], 9:u8) o[2 * y + 1, x] = 3:u8", {"w >= 384"}),
    ("o[y, x] = max(a[y, x], 9:u8)", set()),
])  # fmt: skip
def test_rows_in_place_are_longer_than_others(body: str, expected: set[str]) -> None:
    nest = f"for y in 0 .. h {{ for x in 0 .. w {{ {body} }} }}"
    assert gaining(f"kernel k(h, w; o: u8[2 * h, w] distinct, a: u8[h, w] distinct) {{ {nest} }}") == expected


@pytest.mark.parametrize(("declared", "asked"), [("int s = 0;", True), ("static int s;", False), ("", False)])
def test_variables_that_others_see_are_in_memory_at_any_size(declared: str, asked: bool) -> None:
    loop = "for (int i = 0; i < n; i++) s += a[i]; return s;"
    text = f"int s; int f(int n, const int *a) {{ {declared} {loop} }}"
    options = Options(target="x86-avx512", measure=False)
    (region,) = read_file(Source("f.c", text), options).functions[0].regions
    plan = plan_region(region, options, load_target("x86-avx512"))
    (version,) = lower_plan(plan, options, 1, gaining=True).versions
    assert any("n >=" in print_expr(x) for x in version.kernel.assumptions) == asked
