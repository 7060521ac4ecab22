"""Raised kernels as MLIR: the text is verified, lowered and run, and computes what the loops as written compute."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import c_type
from raised_examples import EXAMPLES, Example, check_close, copied, meant, numbers

from planish.emit.formats.mlir.mlir_text import emit_mlir
from planish.ir.nest import Kernel
from planish.ir.text.parser import parse_kernel
from planish.raising.raised import Loops, Raised

PASSES = (
    "--convert-linalg-to-loops", "--lower-affine", "--expand-strided-metadata", "--lower-affine",
    "--convert-scf-to-cf", "--convert-math-to-llvm", "--convert-math-to-libm", "--arith-expand",
    "--convert-arith-to-llvm", "--finalize-memref-to-llvm", "--convert-func-to-llvm", "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts",
)  # fmt: skip


@pytest.fixture(scope="module")
def tools() -> dict[str, str]:
    """MLIR's programs; skips the test where one is missing."""
    found = {}
    for name in ("mlir-opt", "mlir-translate", "clang"):
        path = shutil.which(f"{name}-19") or shutil.which(name)
        if path is None:
            pytest.skip(f"no {name} here (Debian: mlir-19-tools, clang-19)")
        found[name] = path
    return found


def run(command: list[str], text: str) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)
    numbered = "\n".join(f"{i:4} {line}" for i, line in enumerate(text.splitlines(), 1))
    assert done.returncode == 0, f"{done.stderr}\n{numbered}"
    return done.stdout


def build(text: str, tools: Mapping[str, str], folder: Path) -> ctypes.CDLL:
    """A library of the functions of a module."""
    run([tools["mlir-opt"], "--verify-each", "-"], text)
    lowered = run([tools["mlir-opt"], *PASSES, "--verify-each", "-"], text)
    code = run([tools["mlir-translate"], "--mlir-to-llvmir", "-"], lowered)
    (folder / "k.ll").write_text(code)
    library = folder / "k.so"
    run([tools["clang"], "-O1", "-shared", "-fPIC", "-w", str(folder / "k.ll"), "-o", str(library), "-lm"], "")
    return ctypes.CDLL(str(library))


def call(library: ctypes.CDLL, kernel: Kernel, values: Mapping[str, Any]) -> None:
    """Call a function; an array is two pointers, an offset, its extents and its strides."""
    kinds: list[Any] = [ctypes.c_int64] * len(kernel.sizes) + [c_type(x.type) for x in kernel.scalars]
    passed: list[Any] = [values[x] for x in (*kernel.sizes, *(s.name for s in kernel.scalars))]
    for array in kernel.arrays:
        value = values[array.name]
        strides = [x // value.itemsize for x in value.strides]
        passed += [value.ctypes.data, value.ctypes.data, 0, *value.shape, *strides]
        kinds += [ctypes.c_void_p] * 2 + [ctypes.c_int64] * (1 + 2 * value.ndim)
    function = getattr(library, kernel.name)
    function.argtypes, function.restype = kinds, None
    function(*passed)


def check(raised: Raised, sizes: list[Mapping[str, int]], tools: Mapping[str, str], folder: Path) -> None:
    text = emit_mlir(raised)
    library = build(text, tools, folder)
    for given in sizes:
        values = numbers(raised.kernel, given, seed=3)
        wanted = meant(raised.kernel, values)
        found = copied(values)
        call(library, raised.kernel, found)
        check_close(raised.kernel, found, wanted, f"{given}\n{text}")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda x: x.name)
def test_the_text_runs(example: Example, tools: dict[str, str], tmp_path: Path) -> None:
    check(example.raised, list(example.sizes), tools, tmp_path)


WANTED = {
    "gemm": ["linalg.generic", "arith.mulf"],
    "gemm_into_columns": ["sizes: [%m, %n], strides: [1, %m]",
                          "linalg.matmul ins(%A, %B : memref<?x?xf64>, memref<?x?xf64>)"],
    "part_of_a_product": ["linalg.matmul ins(", "memref.reinterpret_cast %B to offset: ["],
    "gemv_transposed": ["linalg.vecmat ins(%x, %A : memref<?xf64>, memref<?x?xf64>) outs(%y : memref<?xf64>)"],
    "dots": ["linalg.dot ins(", "strides: [-3]"],
    "level_one": ["linalg.copy"],
    "elementwise": ["linalg.transpose ins(%A", "permutation = [1, 0]", "arith.select",
                    "linalg.reduce { arith.addf } ins(%A"],
    "batches": ["linalg.batch_matmul ins(%A, %B : memref<4x?x?xf64>"],
    "convolution": ["linalg.conv_2d_nchw_fchw {dilations = dense<[1, 3]> : tensor<2xi64>, "
                    "strides = dense<[1, 2]> : tensor<2xi64>} ins("],
    "convolution_of_known_size": ["to offset: [0], sizes: [1, 2, 7, 9], strides: [144, 72, 9, 1]"],
    "two_products": ["linalg.fill ins("],
    "triangular": ["affine.for"],
}  # fmt: skip


@pytest.mark.parametrize("name", WANTED)
def test_the_operations(name: str) -> None:
    text = emit_mlir(next(x for x in EXAMPLES if x.name == name).raised)
    for line in WANTED[name]:
        assert line in text, text


def test_all_that_loops_may_hold(tools: dict[str, str], tmp_path: Path) -> None:
    """Conversions, choices, functions, bits, and bounds that are not affine."""
    kernel = parse_kernel(
        "kernel all(n; a: f32, b: i64; x: f64[n], y: f32[n], u: u8[n], v: i32[n], w: i64[n], z: f16[n])"
        " assume n >= 0 {"
        " for i in 0 .. n { let t = f64(y[i]) + f64(v[i])"
        " x[i] = select(v[i] > 0:i32 && x[i] < 9.5, fmax(t, x[i]), exp(-fabs(t) * 0.001))"
        " u[i] = u8(v[i] & 63:i32) + u[i] // 3:u8"
        " v[i] = (v[i] ^ -5:i32) << 1:i32"
        " w[i] = w[i] % 7 + min(w[i], b) // 2 - i"
        " y[i] = f32(hypot(x[i], 2.0)) + floor(a) - f32(u[i])"
        " z[i] = f16(y[i] * 0.125:f32)"
        " if i % 2 == 0 { x[i] *= 2.0 } else { alloc c: f64[2] c[0] = x[i] c[1] = 1.0e10 x[i] = c[0] + c[1] } }"
        " for i in 0 .. n { for j in i * i .. n step 2 { x[j] += 1.0 } } }"
    )
    raised = Raised(kernel, (Loops(kernel.body),))
    check(raised, [{"n": 0}, {"n": 9}], tools, tmp_path)


def test_what_is_not_finite_is_written_by_its_bits() -> None:
    kernel = parse_kernel("kernel k(x: f32[1], y: f64[1]) { x[0] = inf:f32 y[0] = -inf }")
    text = emit_mlir(Raised(kernel, (Loops(kernel.body),)))
    assert "0x7F800000 : f32" in text and "0xFFF0000000000000 : f64" in text
    assert np.isinf(np.array(0x7F800000, np.uint32).view(np.float32))
