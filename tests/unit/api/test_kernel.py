"""Annotated Python functions as kernels: the same results as the Python that they are, in machine code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planish
from planish import f32, f64, i32, size, u8
from planish.emit.dropin.standalone import emit_standalone
from planish.ir.text.parser import parse_kernel
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.signature import CallCase, Parameter, Signature
from planish.run.oracle.interpreter_check import confirm_meaning
from planish.run.toolchains.toolchain import choose_compiler, compile_library

n, m, k = planish.sizes("n m k")


@planish.kernel(measure=False)
def gemm(alpha: f32, A: f32[n, k], B: f32[k, m], C: f32[n, m]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for p in range(A.shape[1]):
                C[i, j] += alpha * A[i, p] * B[p, j]


@planish.kernel(fp="strict", measure=False)
def blur(n: size, x: u8[n], y: u8[n], low: i32 = 3):
    for i in range(1, n - 1):
        y[i] = max(min((x[i - 1] + 2 * x[i] + x[i + 1]) // 4, 200), low)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).random(shape, np.float32)


def test_it_computes_what_the_python_computes() -> None:
    A, B = random(5, 7), random(7, 6)
    got, want = random(5, 6), random(5, 6)
    gemm(2.0, A, B, got)
    gemm.python(2.0, A, B, want)
    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert gemm.report.transformed and gemm.report.account.check is not None
    assert gemm.__name__ == "gemm" and "alpha: f32" in repr(gemm)


def test_integers_wrap_and_defaults_fill_in() -> None:
    x = np.random.default_rng(2).integers(0, 256, 40, np.uint8)
    got, want = np.zeros(40, np.uint8), np.zeros(40, np.uint8)
    with np.errstate(over="ignore"):
        blur.python(40, x, want, np.int32(3))
    blur(x, got)
    np.testing.assert_array_equal(got, want)
    blur(x=x, y=got, low=100)
    assert got[1:-1].min() == 100


def test_shapes_are_checked_against_the_annotations() -> None:
    with pytest.raises(ValueError, match=r"`B` must have shape \(k, m\) with k = 7, m = 6, but has shape \(8, 6\)"):
        gemm(1.0, random(5, 7), random(8, 6), random(5, 6))
    with pytest.raises(ValueError, match="`A` must have neighbouring elements in a row, but is in Fortran order"):
        gemm(1.0, random(7, 5).T, random(7, 6), random(5, 6))
    with pytest.raises(TypeError, match="no value for `C`"):
        gemm(1.0, random(5, 7), random(7, 6))


def test_overlapping_arguments_keep_the_order_of_the_text() -> None:
    @planish.kernel
    def step(n: size, x: f64[n], y: f64[n]):
        for i in range(n):
            y[i] = x[i] + 1.0

    x = np.zeros(5)
    step(4, x[:4], x[1:])
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_a_subscript_beyond_the_array_is_refused_before_the_call() -> None:
    @planish.kernel
    def ahead(n: size, x: f64[m]):
        for i in range(n):
            x[i] = x[i + 1]

    x = np.arange(6.0)
    ahead(5, x)
    assert x.tolist() == [1, 2, 3, 4, 5, 5]
    with pytest.raises(ValueError, match="`x` must have 7 elements with m = 6, n = 6, but has 6"):
        ahead(6, x)


def test_names_that_c_has_taken_are_spelt_otherwise() -> None:
    @planish.kernel
    def floor(double: f64[n], scale: f64):
        for i in range(double.shape[0]):
            double[i] *= scale

    x = np.ones(3)
    floor(x, 2.0)
    floor(double=x, scale=2.0)
    assert x.tolist() == [4.0] * 3


def test_what_is_no_kernel_is_told_at_its_definition() -> None:
    with pytest.raises(planish.PlanishError, match="(?s)E03.*test_kernel.py.*while True"):

        @planish.kernel
        def forever(n: size, x: f64[n]):
            while True:
                x[0] = 1.0


def test_a_python_file_is_compiled_by_name(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(
        "from planish import f64, size\n"
        'def double(n: size, x: f64["n"]):\n    for i in range(n):\n        x[i] *= 2.0\n'
        'def triple(n: size, x: f64["n"]):\n    for i in range(n):\n        x[i] *= 3.0\n'
    )
    x = np.ones(4)
    planish.compile(file, "triple", measure=False)(x)
    assert x.tolist() == [3.0] * 4
    with pytest.raises(planish.PlanishError, match="several functions: `double`, `triple`"):
        planish.compile(file, measure=False)


def test_a_c_function_that_means_something_else_is_found(tmp_path: Path) -> None:
    kernel = parse_kernel("kernel add(n; x: f64[n]) { for i in 0 .. n { x[i] += 1.5 } }")
    file = emit_standalone(kernel)
    signature = Signature("add", (Parameter("n", planish.i64.type, "value"), Parameter("x", f64.type, "array")))
    cases = [CallCase({"n": v}, {"x": v}, {"x": (v,)}, seed=v) for v in (0, 1, 3, 500)]

    def check(text: str) -> str:
        library = compile_library(choose_compiler(None), text + entry_text(signature), ("-w",), tmp_path)
        try:
            confirm_meaning(library, kernel, signature, cases)
        except RuntimeError as error:
            return str(error)
        return ""

    assert check(file.source.text) == ""
    assert "x[0] is" in check(file.source.text.replace("1.5", "1.25"))
    assert "(n=3)" in check(file.source.text.replace("i < n", "i < n - (n == 3)"))


def test_a_c_function_that_nothing_confirms_is_told(tmp_path: Path) -> None:
    loop = "k[] = {0}  while k[] < {1} {{ x[k[]] = 1.5  k[] += {2} }}"
    text = f"kernel f(n; x: f64[n]) {{{{ alloc k: i64[] register  {loop} }}}}"
    signature = Signature("f", (Parameter("n", planish.i64.type, "value"), Parameter("x", f64.type, "array")))

    def told(*values: str, sizes: tuple[int, ...] = (1, 3), seconds: float = 60) -> str:
        kernel = parse_kernel(text.format(*values))
        file = emit_standalone(kernel)
        library = compile_library(choose_compiler(None), file.source.text + entry_text(signature), ("-w",), tmp_path)
        cases = [CallCase({"n": v}, {"x": v}, {"x": (v,)}, seed=v) for v in sizes]
        return confirm_meaning(library, kernel, signature, cases, seconds=seconds)

    assert told("0", "n", "1") == ""
    assert told("n", "n + 1", "1") == "the reference interpreter confirms the C for f with none of 2 small calls"
    assert told("0", "n", "1", sizes=(7,)).endswith("with none of 0 small calls")
    assert told("0", "n", "0", seconds=1) == "the reference interpreter did not end with call 1 of 2 small ones"


def test_helpers_of_the_original_and_the_version_live_side_by_side() -> None:
    @planish.kernel
    def halves(n: size, x: i32[n], y: i32[n]):
        for i in range(n):
            y[i] = min(x[i] // 2, i) % 5

    x = np.arange(-9, 9, dtype=np.int32)
    got, want = np.zeros(18, np.int32), np.zeros(18, np.int32)
    halves(x, got)
    halves.python(18, x, want)
    np.testing.assert_array_equal(got, want)


def test_typing_of_results() -> None:
    compiled: Any = gemm.compiled
    assert gemm.source == compiled.source and gemm.stages == compiled.stages


def test_what_is_not_measured_races_the_original(tmp_path: Path) -> None:
    raced = planish.kernel(cache=planish.Cache(tmp_path))(gemm.python)
    A, B = random(5, 7), random(7, 6)
    got, want = random(5, 6), random(5, 6)
    raced(2.0, A, B, got)
    gemm.python(2.0, A, B, want)
    np.testing.assert_allclose(got, want, rtol=1e-5)
    slower = [x for x in raced.report.account.reasons if "slower than the original" in x]
    assert bool(slower) is not raced.report.transformed
    assert not raced.report.transformed or "raced with the original: n=" in str(raced.report)
    assert "raced" not in str(gemm.report)
