"""Chains of values that are made in lanes: which loops are some, and what is run in their place."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr, print_kernel
from planish.library.loops.scan.affine_gap import find_gaps
from planish.library.loops.scan.max_plus import MaxPlusChain, find_chain
from planish.library.loops.scan.vector_scan import scan_versions
from planish.library.strategies.nests.loops import LOOPS
from planish.library.strategies.nests.scan import SCAN
from planish.library.strategy import Context
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

NEON, AVX512 = load_target("aarch64-neon"), load_target("x86-avx512")
HEAD = (
    "kernel k(n; c: i32, d: i32; x: i32[n + 2], e: i32[n + 2], f: i32[n + 2], b: i16[n + 2], u: u32[n + 2], s: i32[1])"
)
LOWEST = -(2**31)


def kernel_of(body: str, lower: str = "1", upper: str = "n") -> Kernel:
    return parse_kernel(f"{HEAD} assume n >= 0 {{ for j in {lower} .. {upper} {{ {body} }} }}")


def run(kernel: Kernel, n: int, low: int = -100, high: int = 100, c: int = 3, d: int = 5) -> list[np.ndarray]:
    random = np.random.default_rng(n)
    values = {name: random.integers(low, high, n + 2, dtype=np.int32) for name in "xef"}
    values["b"] = random.integers(-300, 300, n + 2, dtype=np.int16)
    values["u"] = random.integers(0, 300, n + 2, dtype=np.uint32)
    values["s"] = random.integers(low, high, 1, dtype=np.int32)
    run_kernel(kernel, {"n": n, "c": c, "d": d, **values})
    return [*values.values()]


GAPS = "e[j] = max(e[j - 1] - 1:i32, x[j - 1] - 4:i32)"
CHAINS = {
    "a lower bound": "x[j] = max(max(e[j], 0:i32), x[j - 1] - 2:i32)",
    "narrow values": "x[j] = max(x[j - 1] - 2:i32, i32(b[j]))",
    "no bound": "x[j] = max(e[j], x[j - 1] - 2:i32)",
    "the least": "x[j] = min(min(e[j], 7:i32 + x[j - 1]), f[j - 1])",
    "no cost": "x[j] = max(x[j - 1], e[j])",
    "a sum with less than nothing": "x[j] = max(e[j], x[j - 1] + -2:i32)",
    "a parameter": "x[j] = max(e[j], x[j - 1] - c)",
    "a bound and a parameter": "x[j] = max(max(e[j], -9:i32), x[j - 1] - c)",
    "in place": "x[j] = max(max(x[j], x[j + 1]), x[j - 1] - 2:i32)",
    "an update": "x[j] max= x[j - 1] - 2:i32",
    "a cell": "s[0] = max(i32(b[j]), s[0] - 2:i32) x[j] = s[0]",
    "a cell that stays": "s[0] max= e[j] x[j] = s[0]",
    "gaps": f"{GAPS} x[j] = max(max(f[j], 0:i32), e[j])",
    "gaps without a bound": f"{GAPS} x[j] = max(f[j], e[j])",
    "to begin costs less": "e[j] = max(x[j - 1] - 1:i32, e[j - 1] - 4:i32) x[j] = max(e[j], f[j])",
    "gaps of parameters": "e[j] = max(e[j - 1] - c, x[j - 1] - d) x[j] = max(f[j], e[j])",
    "more is stored": f"f[j] = max(f[j] - 1:i32, 3:i32) {GAPS} x[j] = max(f[j], e[j])",
    "gaps of the least": "e[j] = min(e[j - 1] + c, x[j - 1] + 4:i32) x[j] = min(i32(b[j]), e[j])",
}
NEAR_MISSES = {
    "more than the one before": "x[j] = max(e[j], x[j - 1] + 2:i32)",
    "two before": "x[j] = max(e[j], x[j - 2] - 2:i32)",
    "two of them": "x[j] = max(max(e[j], x[j - 2]), x[j - 1] - 2:i32)",
    "twice": "x[j] = max(max(e[j], x[j - 1] - 3:i32), x[j - 1] - 2:i32)",
    "a cost that moves": "x[j] = max(e[j], x[j - 1] - f[j])",
    "it goes into what does not wait": "x[j] = max(e[j] + x[j - 1], x[j - 1] - 2:i32)",
    "another operation": "x[j] = min(max(e[j], x[j - 1] - 2:i32), f[j])",
    "steps": "x[2 * j] = max(e[j], x[2 * j - 1] - 2:i32)",
    "the cell is read": "s[0] = max(e[j] + s[0], s[0] - 2:i32) x[j] = s[0]",
    "something else is kept": "s[0] = max(e[j], s[0] - 2:i32) x[j] = s[0] + 1:i32",
    "an old value": "let t = e[j - 1] e[j] = max(e[j - 1] - 1:i32, x[j - 1] - 4:i32) x[j] = max(t, e[j])",
    "the second value is read": f"{GAPS} x[j] = max(max(f[j], e[j]), x[j - 1])",
    "what is beside is made of it": f"{GAPS} x[j] = max(f[j], e[j]) f[j] = e[j]",
    "the next one is read": f"f[j] = max(f[j + 1] - 1:i32, 3:i32) {GAPS} x[j] = max(f[j], e[j])",
}


@cache
def version_of(name: str) -> Kernel:
    (version,) = scan_versions(prepare(kernel_of(CHAINS[name])), NEON)
    assert [x.id for x in version.remarks] == ["simd-scan"]
    return version.kernel


def find(body: str) -> MaxPlusChain | None:
    loop = kernel_of(body, "2").body.body[0]
    return find_chain(loop, ("c", "d")) or find_gaps(loop, ("c", "d"))


@pytest.mark.parametrize("name", CHAINS)
def test_chains_are_found(name: str) -> None:
    kernel, version = kernel_of(CHAINS[name]), version_of(name)
    assert "as neon_slide_2_i32" in print_kernel(version)
    for n in (0, 1, 2, 5, 6, 27):
        for made, wanted in zip(run(version, n), run(kernel, n), strict=True):
            assert (made == wanted).all(), n


EXTREMA = "kernel k(n; s: f32[1], x: f32[n + 1], y: f32[n + 1]) assume n >= 0 {{ for j in 1 .. n + 1 {{ {} }} }}"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("s[0] = min(x[j], s[0]) y[j] = s[0]", True),
        ("s[0] = max(x[j] * 2.0:f32, s[0]) y[j] = s[0]", True),
        ("y[j] = max(x[j], y[j - 1])", True),
        ("y[j] = select(y[j] < y[j - 1], y[j], y[j - 1])", True),
        ("y[j] = max(y[j - 1], x[j])", False),  # a NaN goes away behind it
        ("y[j] = select(x[j] <= y[j - 1], x[j], y[j - 1])", False),  # of two zeros, it is the other one
        ("y[j] = max(x[j], y[j - 1] - 1.0:f32)", False),
    ],
)
def test_extrema_of_floats_have_the_same_nans(body: str, found: bool) -> None:
    kernel = parse_kernel(EXTREMA.format(body))
    made = scan_versions(prepare(kernel), AVX512)
    assert len(made) == found and not scan_versions(prepare(kernel), NEON)
    for n, start in [(0, 0), (1, np.nan), (17, np.inf), (40, np.nan), (600, 0.0)] if found else []:
        random = np.random.default_rng(n)
        x, y = (random.choice([np.nan, -0.0, 0.0, np.inf, -np.inf, 1.5, -2.5], n + 1).astype(np.float32) for _ in "xy")
        y[0] = start
        values = [{"n": n, "s": np.array([start], np.float32), "x": x, "y": y.copy()} for _ in "ab"]
        run_kernel(kernel, values[0])
        run_kernel(made[0].kernel, values[1])
        for name in "sy":
            assert values[0][name].tobytes() == values[1][name].tobytes()


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses_are_none(name: str) -> None:
    assert find(NEAR_MISSES[name]) is None


def test_names_are_written_out() -> None:
    found = find("let t = max(e[j], f[j]) let r = max(t, x[j - 1] - 1:i32) x[j] = r")
    assert found is not None and print_expr(found.own) == "max(e[j], f[j])"


@pytest.mark.parametrize("cell", [CHAINS["no bound"].replace("2:i32", "1000000000:i32"), "u[j] = max(u[j], u[j - 1])"])
def test_there_are_none_for_others(cell: str) -> None:
    """Too large a cost, and a type whose lanes are not moved."""
    assert find(cell) is not None and scan_versions(prepare(kernel_of(cell)), AVX512) == ()


@pytest.mark.parametrize("name", ["no bound", "a parameter", "gaps without a bound", "gaps of parameters"])
def test_nothing_leaves_the_type(name: str) -> None:
    """Values so near to the least one that a cost of several places would go below it, but that of one does not."""
    kernels = version_of(name), kernel_of(CHAINS[name])
    for made, wanted in zip(*(run(x, 27, LOWEST + 8, LOWEST + 16) for x in kernels), strict=True):
        assert (made == wanted).all()


@pytest.mark.parametrize(("c", "d"), [(-3, 5), (2, -1), (2**30, 1), (0, 0)])
def test_other_parameters_are_done_as_written(c: int, d: int) -> None:
    for name in ("a parameter", "a bound and a parameter", "gaps of parameters"):
        kernels = version_of(name), kernel_of(CHAINS[name])
        for made, wanted in zip(*(run(x, 19, c=c, d=d) for x in kernels), strict=True):
            assert (made == wanted).all()


def test_long_rows_are_done_by_strips() -> None:
    for made, wanted in zip(*(run(x, 1030) for x in (version_of("gaps"), kernel_of(CHAINS["gaps"]))), strict=True):
        assert (made == wanted).all()


@pytest.mark.parametrize("value", [
    "x[i, j] + s[i - 1, j] + s[i, j - 1] - s[i - 1, j - 1]", "max(x[i, j], s[i, j - 1] - 2:i32)",
    "s[i, j - 1] + x[i, j]",
])  # fmt: skip
@pytest.mark.parametrize(("length", "first"), [(400, True), (12, False)])
def test_scans_in_inner_loops_stand_where_their_cycles_place_them(value: str, length: int, first: bool) -> None:
    """Rows that fill no register gain nothing."""
    loops = f"for i in 1 .. n {{ for j in 1 .. m {{ s[i, j] = {value} }} }}"
    kernel = parse_kernel(f"kernel k(n, m; s: i32[n, m] distinct, x: i32[n, m] distinct) {{ {loops} }}")
    cx = replace(Context.of(kernel, AVX512), sizes={"n": 400, "m": length})
    (scan,) = SCAN.match(cx)
    best = min(LOOPS.cost_of(cx, x) for x in LOOPS.match(cx))
    assert (SCAN.cost_of(cx, scan) < best) is first
