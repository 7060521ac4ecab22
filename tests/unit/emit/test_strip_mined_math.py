"""Which functions are made for a block of iterations, and that what comes out is the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import call, compile_kernels

from planish.emit.idioms.math_functions import LANE_FUNCTIONS
from planish.emit.idioms.strip_mined_math import BLOCKS, find_calls, with_blocks
from planish.ir.nest import Block, For, Kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.types import F32

FLAGS = Path("/proc/cpuinfo")
ANY_ORDER = ("-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-ffinite-math-only")
"""What -ffast-math lets a compiler do with an expression, without what it does to the process."""
ARRAYS = "x: f32[64], y: f32[64], z: f32[64], d: f64[64]"


def kernel(body: str, count: int = 64) -> Kernel:
    return parse_kernel(f"kernel f({ARRAYS}) {{ for l in 0 .. {count} simd {{ {body} }} }}")


def loop(of: Kernel) -> For:
    (found,) = of.body.body
    assert isinstance(found, For)
    return found


@pytest.mark.parametrize(
    ("body", "calls"),
    [
        ("y[l] = exp(x[l] * 2.0:f32)", 1),
        ("y[l] = exp(x[l]) z[l] = exp(x[l]) + exp(z[l])", 1),  # the one of `z` needs what is replaced
        ("y[l] = exp(x[l]) z[l] = exp(x[0])", 2),
        ("y[l] = exp(exp(x[l]))", 1),  # the outer one needs the inner one
        ("let a = x[l] + 1.0:f32 y[l] = exp(a)", 0),
        ("y[l] = select(l < 63, exp(x[l + 1]), x[l])", 0),  # the last one has no element
        ("d[l] = exp(d[l])", 0),
        ("y[l] = sqrt(x[l])", 0),
    ],
)
def test_what_is_made_for_a_block(body: str, calls: int) -> None:
    assert len(find_calls(loop(kernel(body)), 64)) == calls
    assert not find_calls(loop(kernel(body, 32)), 32)


def test_every_function_of_a_block_has_its_text() -> None:
    assert all(f"static inline void {x.name}(" in LANE_FUNCTIONS[x.name] for x in BLOCKS.values())


@pytest.mark.parametrize("flags", [("-O1",), ("-O3", "-ffp-contract=off"), ("-O3", *ANY_ORDER)], ids=" ".join)
def test_blocks_compute_what_lanes_compute(flags: tuple[str, ...], tmp_path: Path) -> None:
    if not FLAGS.exists() or "avx512dq" not in FLAGS.read_text().split():
        pytest.skip("this machine has no AVX-512DQ")
    plain = kernel("y[l] = exp(x[l])")
    made = Kernel("f", arrays=plain.arrays, body=Block(with_blocks(loop(plain), ("value",))))
    instruction = BLOCKS["exp", F32]
    function, = compile_kernels(
        [made], tmp_path, flags=(*flags, "-mavx512f", "-mavx512dq"), headers=(instruction.header,), own_functions=True
    )
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 88.7, 88.8, -87.4, -103.9, -104, 105, -105, 1e38], np.float32)
    values = np.concatenate([special, np.linspace(-106, 90, 51, dtype=np.float32)])
    y = np.zeros(64, np.float32)
    call(function, made, {"x": values, "y": y, "z": values.copy(), "d": np.zeros(64)})
    assert instruction.lanes == 64
    with np.errstate(over="ignore"):
        exact = np.exp(values.astype(np.float64))
        rounded = exact.astype(np.float32)
    finite = np.isfinite(rounded)
    assert np.array_equal(y[~finite], rounded[~finite], equal_nan=True)
    assert np.all(np.abs(y[finite] - exact[finite]) <= 0.9 * np.spacing(rounded[finite]))
