"""What is written past the caches, compiled and run beside the loops as they are: from none to several parts of a row,
wherever it begins, in memory behind which none may be touched."""

from __future__ import annotations

import ctypes
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import compile_text

from planish.emit.c.instruction_calls import headers_of
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.ir.nest import Block, If, Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.types import F32, F64, Type
from planish.isa.shipped import shipped
from planish.library.loops.nontemporal.streaming_stores import stream_versions
from planish.library.loops.scan.vector_scan import scan_versions
from planish.schedule.auto.plan import plan, prepare
from planish.target.load import load_target

TARGETS = {"x86-avx2": "avx2", "x86-avx512": "avx512f"}
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="stores past the caches are those of x86")

KERNELS = {
    "scale": "kernel k(n; A: f32[n] distinct, B: f32[n] distinct) { for i in 0 .. n { B[i] = A[i] * 3.0:f32 } }",
    "double": "kernel k(n; A: f64[n] distinct, B: f64[n] distinct) { for i in 0 .. n { B[i] = A[i] + 1.0 } }",
    "pairs": (
        "kernel k(n; A: f32[n] distinct, B: f32[n] distinct) { for i in 0 .. n // 2 {"
        " B[2 * i] = A[2 * i] - A[2 * i + 1] B[2 * i + 1] = A[2 * i] * A[2 * i + 1] } }"
    ),
    "inside": "kernel k(n; A: f64[n] distinct, B: f64[n] distinct) { for i in 1 .. n - 1 { B[i] = A[i - 1] + A[i] } }",
    **{
        f"{sign}{bits}": f"kernel k(n; A: {sign}{bits}[n] distinct, B: {sign}{bits}[n] distinct) "
        f"{{ for i in 0 .. n {{ B[i] = A[i] ^ {sign}{bits}(i) }} }}"
        for sign in "iu" for bits in (8, 16, 32, 64)
    },
}  # fmt: skip


def flags() -> str:
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return next((x for x in text.splitlines() if x.startswith("flags")), "")


def always(kernel: Kernel) -> Kernel:
    """The kernel without the question how large the array is."""
    body = [y for x in kernel.body.body for y in (x.then.body if isinstance(x, If) else (x,))]
    return replace(kernel, body=Block(tuple(body)))


@pytest.mark.each_value
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("target", TARGETS)
def test_streamed_rows_are_the_same(name: str, target: str, tmp_path: Path, guarded: Any) -> None:
    if TARGETS[target] not in flags():
        pytest.skip(f"this machine has no {target}")
    machine, prepared = load_target(target), prepare(parse_kernel(KERNELS[name]))
    candidates = plan(prepared, machine, reassociate=True)
    (made,) = stream_versions(prepared, machine, candidates[:1])
    kernels = {"plain": candidates[0].kernel, "streamed": always(made.kernel)}
    texts = [emit_function(x, y, noalias=True) for y, x in kernels.items()]
    assert "planish_until_line" in texts[1] and "_mm_sfence();" in texts[1]
    exports = "".join(f"void *get_{x}(void) {{ return (void *){x}; }}\n" for x in kernels)
    text = emit_prologue(texts, headers=headers_of(kernels["streamed"])) + exports
    library = compile_text(text, tmp_path, flags=(*machine.flags_for("gcc"), "-O2", "-fopenmp-simd", "-Wno-psabi"))
    type = prepared.kernel.arrays[0].type
    for n in (0, 1, 2, 3, 15, 17, 64, 255, 257, 300, 513, 1031):
        for after in (0, type.size, 3 * type.size, 36, 48):
            values = np.random.default_rng(n).uniform(1, 99, n).astype(type.numpy)
            results = []
            for function in kernels:
                getter = getattr(library, f"get_{function}")
                getter.restype = ctypes.c_void_p
                call = ctypes.CFUNCTYPE(None, ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p)(getter())
                source, result = guarded(values, 0), guarded(np.full_like(values, 7), after)
                call(n, source.ctypes.data, result.ctypes.data)
                results.append(result.tobytes())
            assert results[0] == results[1], (n, after)


SHARES = """
kernel shares(m, n; x: f32[m, n] distinct, y: f32[m, n] distinct) {
  for i in 0 .. m {
    alloc sum: f32[] register
    sum[] = 0.0:f32
    for j in 0 .. n { y[i, j] = x[i, j] * x[i, j] sum[] += y[i, j] }
    for j in 0 .. n { y[i, j] = y[i, j] / sum[] + x[i, j] }
  }
}"""
CENTRED = """
kernel centred(m, n; x: f32[m, n] distinct, y: f32[m, n] distinct) {
  for i in 0 .. m {
    alloc sum: f32[] register
    sum[] = 0.0:f32
    for j in 0 .. n { sum[] += x[i, j] }
    for j in 0 .. n { y[i, j] = x[i, j] - sum[] }
  }
}"""
SOFTMAX = SHARES.replace("x[i, j] * x[i, j]", "exp(x[i, j] - x[i, 0])").replace("sum[] + x[i, j]", "sum[]")


@pytest.mark.parametrize("text", [SHARES, CENTRED, SOFTMAX], ids=["shares", "centred", "softmax"])
def test_rows_that_are_stored_while_the_next_are_made_are_the_same(text: str, tmp_path: Path, guarded: Any) -> None:
    if "avx512f" not in flags():
        pytest.skip("this machine has no x86-avx512")
    machine, prepared = load_target("x86-avx512"), prepare(parse_kernel(text))
    made = stream_versions(prepared, machine, plan(prepared, machine, reassociate=True), reassociate=True)
    along = next(x for x in made if "pipelined" in x.name)
    kernels = {"plain": prepared.kernel, "overlapped": always(along.kernel)}
    # With the order of sums that the program has, no bit differs; functions are not those of C's library.
    strict = text is not SOFTMAX
    texts = [emit_function(x, y, noalias=True, strict=strict, own_functions=not strict) for y, x in kernels.items()]
    assert ("planish_expf_64" in texts[1]) == (not strict)
    assert texts[1].count("planish_until_line") == 2
    exports = "".join(f"void *get_{x}(void) {{ return (void *){x}; }}\n" for x in kernels)
    text = emit_prologue(texts, headers=headers_of(kernels["overlapped"])) + exports
    library = compile_text(
        text, tmp_path, flags=(*machine.flags_for("gcc"), "-O2", "-fopenmp-simd", "-ffp-contract=off")
    )
    for m, n in ((0, 9), (1, 0), (1, 1), (2, 17), (3, 256), (4, 301), (5, 129)):
        for after in (0, 4, 36):
            values = np.random.default_rng(n).uniform(1, 9, (m, n)).astype(np.float32).ravel()
            results = []
            for function in kernels:
                getter = getattr(library, f"get_{function}")
                getter.restype = ctypes.c_void_p
                call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_ssize_t, ctypes.c_ssize_t, *[ctypes.c_void_p] * 2)(
                    getter()
                )
                source, result = guarded(values, 0), guarded(np.full_like(values, 7), after)
                call(m, n, source.ctypes.data, result.ctypes.data)
                results.append(result.copy())
            same = np.array_equal(*results) if strict else np.allclose(*results, rtol=3e-6, atol=0)
            assert same, (m, n, after)


@pytest.mark.each_value
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type", [F32, F64], ids=str)
def test_sums_that_grow_are_stored_past_the_caches(target: str, type: Type, tmp_path: Path, guarded: Any) -> None:
    if TARGETS[target] not in flags():
        pytest.skip(f"this machine has no {target}")
    loop = "y[0] = x[0] for i in 1 .. n { y[i] = y[i - 1] + x[i] }"
    head = f"kernel sums(n; x: {type}[n] distinct, y: {type}[n] distinct) assume n >= 1"
    machine, prepared = load_target(target), prepare(parse_kernel(f"{head} {{ {loop} }}"))
    scanned = scan_versions(prepared, machine, reassociate=True)
    (made,) = stream_versions(prepared, machine, scanned, reassociate=True)
    kernels = {"plain": prepared.kernel, "scanned": scanned[0].kernel, "streamed": always(made.kernel)}
    catalogue = shipped().with_instructions(made.catalogue.instructions.values())
    texts = [emit_function(x, y, noalias=True, catalogue=catalogue) for y, x in kernels.items()]
    assert "planish_until_line" in texts[2] and "planish_until_line" not in texts[1]
    exports = "".join(f"void *get_{x}(void) {{ return (void *){x}; }}\n" for x in kernels)
    text = emit_prologue(texts, headers=headers_of(kernels["streamed"], catalogue)) + exports
    library = compile_text(text, tmp_path, flags=(*machine.flags_for("gcc"), "-O2", "-fopenmp-simd", "-Wno-psabi"))
    for n in (1, 2, 16, 17, 64, 300, 512, 513, 514, 1031):
        for after in (0, type.size, 36 if type == F32 else 48):
            values = np.random.default_rng(n).uniform(-9, 9, n).astype(type.numpy)
            for function in ("scanned", "streamed"):
                getter = getattr(library, f"get_{function}")
                getter.restype = ctypes.c_void_p
                call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_ssize_t, *[ctypes.c_void_p] * 2)(getter())
                source, result = guarded(values, 0), guarded(np.full_like(values, 7), after)
                call(n, source.ctypes.data, result.ctypes.data)
                exact = np.cumsum(values.astype(np.float64))
                assert np.allclose(result, exact, rtol=0, atol=1e-3 if type == F32 else 1e-12), (function, n, after)
