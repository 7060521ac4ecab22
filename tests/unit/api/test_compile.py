"""C files and texts as functions on NumPy arrays: built, verified, loaded, remembered."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planish
from planish.build.dump import Stage, parse_stage

AXPY = """/* y += a x */
void axpy(int n, float a, const float *x, float *y)
{
  for (int i = 0; i < n; i++)
    y[i] += a * x[i];
}
"""
DOT = """double dot(int n, const double *x, const double *y)
{ double s = 0; for (int i = 0; i < n; i++) s += x[i] * y[i]; return s; }"""


@pytest.fixture(scope="module")
def axpy() -> planish.CompiledFunction:
    return planish.compile(AXPY, measure=False)


def test_it_computes_in_place_without_copies(axpy: planish.CompiledFunction) -> None:
    x, y = np.arange(103, dtype=np.float32), np.ones(103, np.float32)
    assert axpy(103, 0.5, x, y) is None
    np.testing.assert_array_equal(y, 1 + 0.5 * np.arange(103, dtype=np.float32))
    axpy(3, 1.0, y[1:], y[4:])
    assert y[4] == 3.0 + 1.5


def test_overlapping_arrays_run_the_original_order(axpy: planish.CompiledFunction) -> None:
    y = np.ones(6, np.float32)
    axpy(5, 1.0, y[:5], y[1:])
    assert y.tolist() == [1, 2, 3, 4, 5, 6]


def test_it_tells_what_it_is(axpy: planish.CompiledFunction) -> None:
    assert axpy.__name__ == "axpy"
    assert repr(axpy) == "<planish axpy(n: i32, a: f32, x: const f32[], y: f32[])>"
    assert list(inspect.signature(axpy).parameters) == ["n", "a", "x", "y"]
    assert "/* y += a x */" in axpy.source and "planish_axpy_1(" in axpy.source
    assert axpy.report.transformed and axpy.report.account.check is not None
    assert axpy.report.account.check.cases >= 10
    assert "verified:" in str(axpy.report) and str(axpy.report) in (axpy.__doc__ or "")


def test_every_stage_parses_back(axpy: planish.CompiledFunction) -> None:
    assert list(axpy.stages) == ["read", "prepare", "schedule", "nest", "c"]
    stages: tuple[Stage, ...] = ("read", "prepare", "schedule", "nest")
    for stage in stages:
        records = parse_stage(axpy.stages[stage])
        assert records and all(r.region == "axpy 1" for r in records)
    assert axpy.stages["c"] == axpy.source


def test_a_result_is_a_scalar_of_its_type() -> None:
    dot = planish.compile(DOT, measure=False)
    result = dot(np.arange(10.0), np.ones(10))
    assert isinstance(result, np.float64) and result == 45.0
    bits = planish.compile(
        "#include <stdint.h>\n#include <stdbool.h>\n"
        "bool odd(int n, const uint64_t *x)\n"
        "{ uint64_t s = 0; for (int i = 0; i < n; i++) s ^= x[i]; return s & 1; }",
        measure=False,
    )
    assert bits(np.array([2, 4, 1], np.uint64)) is np.True_


def test_scalars_of_every_width_arrive() -> None:
    put = planish.compile(
        "#include <stdint.h>\n"
        "void put(int n, int8_t a, uint16_t b, uint64_t c, float d, _Bool e, double *x)\n"
        "{ for (int i = 0; i < n; i++) x[i] = a + b + d + e + (double)c; }",
        measure=False,
    )
    x = np.zeros(2)
    put(2, -5, 65535, 1 << 40, 0.5, True, x)
    assert x.tolist() == [-5 + 65535 + 0.5 + 1 + 2.0**40] * 2
    with pytest.raises(ValueError, match="`c` is -1, which does not fit u64"):
        put(2, 0, 0, -1, 0.0, False, x)


def test_what_is_not_transformed_still_runs() -> None:
    walk = planish.compile(
        "int walk(int n, const int *next) { int k = 0; while (n-- > 0) k = next[k]; return k; }", measure=False
    )
    assert walk(3, np.array([2, 0, 1], np.int32)) == 0
    assert not walk.report.transformed and walk.report.unbounded == ("next",)
    assert "as it was written" in str(walk.report)


def test_strict_sums_are_exact_to_the_bit() -> None:
    strict = planish.compile(DOT, fp="strict", measure=False)
    x = np.random.default_rng(1).standard_normal(1001)
    total = np.float64(0.0)
    for value in x:
        total += value * value
    assert strict(x, x) == total


def test_a_second_build_is_remembered(tmp_path: Path) -> None:
    cache = planish.Cache(tmp_path)
    first, second = planish.compile(AXPY, cache=cache, measure=False), planish.compile(AXPY, cache=cache, measure=False)
    assert not first.report.cached and second.report.cached
    assert second.source == first.source and second.stages == first.stages
    y = np.zeros(4, np.float32)
    second(1.0, np.ones(4, np.float32), y)
    assert y.tolist() == [1.0] * 4
    other = planish.compile(AXPY, cache=cache, fp="strict", measure=False)
    assert not other.report.cached


def test_a_measured_build_tells_its_times() -> None:
    dot = planish.compile(DOT, measure=True, sizes={"n": 2000})
    account = dot.report.account
    assert account.before is not None and account.timed == "n=2000"
    assert dot.report.ratio is not None and dot.report.ratio >= 0.9
    assert dot(np.ones(7), np.ones(7)) == 7.0


def test_loading_leaves_the_floating_environment_alone() -> None:
    # A library that was linked with -ffast-math makes its loader flush small numbers to zero.
    planish.compile(DOT, measure=True, sizes={"n": 2000})
    assert np.float64(5e-324) * np.float64(1.0) != 0.0


def test_threads_share_a_loop() -> None:
    text = """void scale(int n, int m, double a, double x[n][m])
    { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i][j] *= a; }"""
    scale = planish.compile(text, threads=2, measure=False)
    x = np.ones((50, 70))
    scale(3.0, x)
    assert (x == 3.0).all() and "-fopenmp" in scale.report.compile


def test_a_function_is_chosen_by_name(tmp_path: Path) -> None:
    file = tmp_path / "two.c"
    file.write_text(AXPY + DOT)
    assert planish.compile(file, "dot", measure=False)(np.ones(3), np.ones(3)) == 3.0
    with pytest.raises(planish.PlanishError, match="E0121.*several functions: axpy, dot"):
        planish.compile(str(file), measure=False)
    with pytest.raises(planish.PlanishError, match="E0104.*no function `gemm`"):
        planish.compile(file, function="gemm", measure=False)


def test_a_static_function_can_be_called_where_it_is_named() -> None:
    one = planish.compile("static float f(float x) { return x + 1; }\n" + AXPY, measure=False)
    assert one.__name__ == "axpy"


def test_definitions_and_folders_reach_the_preprocessor(tmp_path: Path) -> None:
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")
    text = '#include "factor.h"\nvoid fill(float x[N]) { for (int i = 0; i < N; i++) x[i] = FACTOR; }'
    fill = planish.compile(text, defines=["N=5"], include_dirs=[tmp_path], measure=False)
    x = np.zeros(5, np.float32)
    fill(x)
    assert x.tolist() == [3.0] * 5


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("nowhere.c", "E0101"), (".", "E0102"), ("void f(int n { }", "E0201"), ("void f(void) { }", "E0105"),
        ("", "E0203"),
    ],  # fmt: skip
)
def test_bad_input_has_a_diagnostic(source: str, code: str) -> None:
    with pytest.raises(planish.PlanishError) as caught:
        planish.compile(source, measure=False)
    assert caught.value.diagnostic.code == code


def test_bad_options_are_value_errors() -> None:
    wrong: dict[str, Any] = {"fp": "fast"}
    with pytest.raises(ValueError, match="fp must be one of strict, contract, reassociate, but is 'fast'"):
        planish.compile(AXPY, **wrong, measure=False)
    with pytest.raises(ValueError, match="threads must be at least 1"):
        planish.compile(AXPY, threads=0, measure=False)
    with pytest.raises(planish.PlanishError, match="E0701"):
        planish.compile(AXPY, target="abacus", measure=False)


def test_the_package_offers_what_it_lists() -> None:
    for name in planish.__all__:
        assert getattr(planish, name) is not None
    assert set(planish.__all__) <= set(dir(planish))
    absent = "missing"
    with pytest.raises(AttributeError, match="has no attribute 'missing'"):
        getattr(planish, absent)


def test_what_is_not_measured_races_the_original(tmp_path: Path) -> None:
    run = planish.compile(AXPY, cache=planish.Cache(tmp_path))
    account = run.report.account
    slower = [x for x in account.reasons if "slower than the original" in x]
    assert bool(slower) is not run.report.transformed
    assert not run.report.transformed or "raced with the original: n=" in str(run.report)
    x, y = np.arange(103, dtype=np.float32), np.ones(103, np.float32)
    run(103, 0.5, x, y)
    np.testing.assert_array_equal(y, 1 + 0.5 * np.arange(103, dtype=np.float32))
