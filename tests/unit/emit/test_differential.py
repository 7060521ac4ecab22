"""The emitted C does what the interpreter does, to the last bit."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import call, canonical, compile_kernels
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import EXTENTS, programs
from tests.property.sampling import one_in

from planish.ir.checker import check_kernel
from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.types import Type


def random_values(kernel: Kernel, n: int, seed: int) -> dict[str, Any]:
    """A size, scalars and arrays for a random program."""
    random = np.random.default_rng(seed)
    out: dict[str, Any] = {"n": n}
    for scalar in kernel.scalars:
        out[scalar.name] = random_array(random, scalar.type, ()).item()
    for array in kernel.arrays:
        out[array.name] = random_array(random, array.type, (n, EXTENTS[0])[: len(array.shape)])
    return out


def random_array(random: np.random.Generator, type: Type, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if type.is_int:
        info = np.iinfo(type.numpy)
        return np.asarray(random.integers(info.min, info.max, shape, type.numpy, endpoint=True))
    return np.asarray(random.standard_normal(shape) * 10).astype(type.numpy)


def copied(values: dict[str, Any]) -> dict[str, Any]:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in values.items()}


@pytest.mark.parametrize("turn", one_in(3, range(3)))
@given(kernels=st.lists(programs(), min_size=4, max_size=8), n=st.integers(1, 5), seed=st.integers(0, 1000))
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_programs(turn: int, kernels: list[Kernel], n: int, seed: int) -> None:
    for kernel in kernels:
        check_kernel(kernel, "test")
    with tempfile.TemporaryDirectory() as folder:
        # Random programs compare things with themselves and the like, which compilers rightly warn of.
        functions = compile_kernels(kernels, Path(folder), flags=("-w",))
        for kernel, function in zip(kernels, functions, strict=True):
            values = random_values(kernel, n, seed)
            wanted = copied(values)
            try:
                run_kernel(kernel, wanted)
            except ArithmeticError:
                continue  # C leaves it undefined as well
            call(function, kernel, values)
            for array in kernel.arrays:
                same = canonical(values[array.name]) == canonical(wanted[array.name])
                assert same, f"{array.name}: {values[array.name]} is not {wanted[array.name]}\n{print_kernel(kernel)}"


GEMM = """kernel gemm(ni, nj, nk; alpha: f32, beta: f32; C: f32[ni, nj] distinct, A: f32[ni, nk] distinct,
                  B: f32[nk, nj] distinct) {
  for i in 0 .. ni {
    for j in 0 .. nj { C[i, j] *= beta }
    for k in 0 .. nk { for j in 0 .. nj simd { C[i, j] += alpha * A[i, k] * B[k, j] } }
  }
}"""

TILED = """kernel tiled(n; A: f64[n, n], B: f64[n, n] distinct) {
  alloc T: f64[n, n + 1]
  for it in 0 .. n step 4 {
    for jt in 0 .. n step 4 {
      for i in it .. min(it + 4, n) unroll 2 { for j in jt .. min(jt + 4, n) { T[j, i] = A[i, j] } }
    }
  }
  alloc S: f64[n]
  for i in 0 .. n { S[i] = 0.0 for j in 0 .. i + 1 { S[i] += T[i, j] } }
  for i in 0 .. n parallel { for j in 0 .. n { B[i, j] = T[i, j] * S[j] } }
}"""

DOT = """kernel dot(n; x: i32[n], y: i32[n], s: i32[], t: u8[], m: i16[]) {
  for i in 0 .. n simd reduce(add: s, max: m) {
    s[] += x[i] * y[i]
    m[] max= i16(x[i])
  }
  for i in 0 .. n simd reduce(xor: t) { t[] ^= u8(y[i]) }
  alloc p: f64[] register
  p[] = 0.0
  for i in 0 .. n simd reduce(add: p) { p[] += f64(x[i] % 7:i32) }
  s[] += i32(p[])
}"""

STENCIL = """kernel stencil(n, steps; A: f64[n], B: f64[n]) assume n >= 2 {
  for t in 0 .. steps {
    for i in 1 .. n - 1 { B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]) }
    for i in 1 .. n - 1 { let left = B[(i - 1) % n] A[i] = select(i // 2 * 2 == i, left, -B[i]) / 1.5 }
  }
}"""

CASES = [
    (GEMM, {"ni": 5, "nj": 7, "nk": 6}),
    (GEMM, {"ni": 0, "nj": 7, "nk": 6}),
    (TILED, {"n": 11}),
    (TILED, {"n": 1}),
    (DOT, {"n": 37}),
    (DOT, {"n": 0}),
    (STENCIL, {"n": 9, "steps": 3}),
]


def values_for(kernel: Kernel, sizes: dict[str, int]) -> dict[str, Any]:
    """Random values of the kernel's declared shapes."""
    random = np.random.default_rng(1)
    out: dict[str, Any] = dict(sizes)
    for scalar in kernel.scalars:
        out[scalar.name] = random_array(random, scalar.type, ()).item()
    for array in kernel.arrays:
        shape = tuple(sizes[x.name] for x in array.shape if x is not None and hasattr(x, "name"))
        out[array.name] = random_array(random, array.type, shape)
    return out


@pytest.mark.parametrize(("text", "sizes"), CASES)
@pytest.mark.parametrize(
    ("compiler", "flags", "threads"),
    [("gcc", (), False), ("gcc", ("-O3", "-fopenmp"), True), ("clang-19", ("-O2", "-fopenmp-simd"), False)],
)
def test_kernels(
    text: str, sizes: dict[str, int], compiler: str, flags: tuple[str, ...], threads: bool, tmp_path: Path,
    need_compiler: Any,
) -> None:  # fmt: skip
    need_compiler(compiler)
    kernel = parse_kernel(text)
    check_kernel(kernel, "test")
    (function,) = compile_kernels([kernel], tmp_path, compiler, flags, threads=threads)
    values = values_for(kernel, sizes)
    wanted = copied(values)
    run_kernel(kernel, wanted)
    status = call(function, kernel, values)
    assert status == 0 or "alloc T" not in text
    for array in kernel.arrays:
        np.testing.assert_array_equal(values[array.name], wanted[array.name])
