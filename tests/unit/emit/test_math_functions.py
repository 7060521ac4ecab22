"""Functions that lanes compute themselves are as exact as they say, for any argument; other loops call C's library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import call, compile_kernels

from planish.emit.c.kernel_text import emit_function
from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel

MOST_ULPS = 0.9
FLAGS = ("-O1",), ("-O3", "-ffp-contract=fast", "-fopenmp-simd")


def kernel(type: str, facts: str = "simd") -> Kernel:
    """The exponentials of some numbers."""
    return parse_kernel(f"kernel f(n; x: {type}[n], y: {type}[n]) {{ for i in 0 .. n {facts} {{ y[i] = exp(x[i]) }} }}")


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_exponentials_of_f32(flags: tuple[str, ...], tmp_path: Path) -> None:
    x = np.arange(0, 1 << 32, 2003, dtype="uint64").astype("uint32").view("float32")
    y = np.zeros_like(x)
    (function,) = compile_kernels([kernel("f32")], tmp_path, flags=flags, own_functions=True)
    call(function, kernel("f32"), {"n": len(x), "x": x, "y": y})
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype("float64"))
        wanted = exact.astype("float32")
    finite = np.isfinite(wanted)
    assert np.array_equal(y[~finite], wanted[~finite], equal_nan=True)
    ulp = np.ldexp(1.0, np.maximum(np.frexp(exact[finite])[1] - 24, -149))
    assert (np.abs(y[finite] - exact[finite]) <= MOST_ULPS * ulp).all()


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_exponentials_of_f64(flags: tuple[str, ...], tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    parts = [random.uniform(-width, width, 100_000) for width in (1e-9, 1, 50, 760)]
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 709.782712893384, 709.8, -745.13, -745.2, -708.5, 1e308, -1e308]
    x = np.concatenate([*parts, np.array(special)])
    y = np.zeros_like(x)
    (function,) = compile_kernels([kernel("f64")], tmp_path, flags=flags, own_functions=True)
    call(function, kernel("f64"), {"n": len(x), "x": x, "y": y})
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype("longdouble"))
        wanted = exact.astype("float64")
    finite = np.isfinite(wanted)
    assert np.array_equal(y[~finite], wanted[~finite], equal_nan=True)
    ulp = np.ldexp(1.0, np.maximum(np.frexp(wanted[finite])[1] - 53, -1074))
    assert (np.abs(y[finite] - exact[finite]) <= MOST_ULPS * ulp).all()


@pytest.mark.parametrize(("facts", "own"), [("simd", False), ("", True)])
def test_other_loops_call_the_library(facts: str, own: bool) -> None:
    assert "planish_exp" not in emit_function(kernel("f64", facts), "f", own_functions=own)
    assert "planish_exp(x[i])" in emit_function(kernel("f64"), "f", own_functions=True)
