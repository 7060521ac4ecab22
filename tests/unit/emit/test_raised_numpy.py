"""Raised kernels as NumPy text compute what the loops as written compute."""

from __future__ import annotations

import re
from typing import Any

import pytest
from raised_examples import EXAMPLES, Example, check_close, copied, meant, numbers, operation

from planish.core.diagnostic import PlanishError
from planish.emit.formats.numpy.einsum_text import emit_einsum
from planish.emit.formats.numpy.numpy_text import emit_numpy
from planish.ir.expr import index
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.raising.expansion import expand
from planish.raising.raised import Apply, Raised, whole


def find(name: str) -> Example:
    return next(x for x in EXAMPLES if x.name == name)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda x: x.name)
def test_the_operations_are_what_the_loops_were(example: Example) -> None:
    kernel = example.raised.kernel
    for sizes in example.sizes:
        values = numbers(kernel, sizes)
        wanted = meant(kernel, values)
        run_kernel(expand(example.raised), values)
        check_close(kernel, values, wanted, str(sizes))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda x: x.name)
def test_the_text_runs(example: Example) -> None:
    kernel = example.raised.kernel
    text = emit_numpy(example.raised)
    scope: dict[str, Any] = {}
    exec(compile(text, example.name, "exec"), scope)
    for sizes in example.sizes:
        values = numbers(kernel, sizes)
        wanted = meant(kernel, values)
        found = copied(values)
        scope[kernel.name](*found.values())
        check_close(kernel, found, wanted, f"{sizes}\n{text}")


WANTED = {
    "gemm": ["C *= beta", "C += alpha * (A @ B)"],
    "gemm_tt": ["C *= 1.0 - beta", "C += alpha * 2.0 * (A.T @ B.T)"],
    "part_of_a_product": ["C[1:n + 1, 2:n + 2] += A[3:n + 3, 1:n + 1] @ B[1:2 * n + 1:2, 1:n + 1]"],
    "gemv_transposed": ["y += A.T @ x"],
    "outer": ["A[1, :, :] += np.outer(x[:, 1], y[n - 1::-1][:n])"],
    "dots": ["r[1] += x[1:2 * n + 1:2] @ y[3 * n - 1::-3][:n]"],
    "contraction": ['C += np.einsum("ikl,ljk->ij", A, B)'],
    "batches": ["C += A @ B"],
    "pooled": ["as_strided(X, (n, 3), (2 * X.strides[0], X.strides[0]))"],
    "convolution_of_known_size": ["sliding_window_view(I[0:1, 0:2, 0:7, 0:9], (3, 3), axis=(2, 3))[:, :, ::2, :]"],
}


@pytest.mark.parametrize("name", WANTED)
def test_the_text_reads_well(name: str) -> None:
    text = emit_numpy(find(name).raised)
    for line in WANTED[name]:
        assert line in text


def test_a_loop_stays_where_elements_depend_on_each_other() -> None:
    text = emit_numpy(find("overlapping").raised)
    assert re.search(r"A\[0:n, :\] \+= A\[n:2 \* n, :\] @ B", text), text
    assert "for i in range(n):\n        x[i + 1] += 0.5 * x[i]" in text


def test_conditions_are_checked() -> None:
    example = find("outer")
    scope: dict[str, Any] = {}
    exec(emit_numpy(example.raised), scope)
    with pytest.raises(ValueError, match="not m >= 2"):
        scope["outer"](*numbers(example.raised.kernel, {"m": 1, "n": 3}).values())


def test_bf16_is_refused() -> None:
    kernel = parse_kernel("kernel k(n; A: bf16[n]) { }")
    with pytest.raises(PlanishError, match="E0841"):
        emit_numpy(Raised(kernel, ()))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda x: x.name)
def test_einsum_runs(example: Example) -> None:
    kernel = example.raised.kernel
    scope: dict[str, Any] = {}
    exec(compile(emit_einsum(example.raised), example.name, "exec"), scope)
    for sizes in example.sizes:
        values = numbers(kernel, sizes, seed=2)
        wanted = meant(kernel, values)
        found = copied(values)
        scope[kernel.name](*found.values())
        check_close(kernel, found, wanted, str(sizes))


def test_einsum_says_what_meets() -> None:
    text = emit_einsum(find("gemm_tt").raised)
    assert 'C += alpha * 2.0 * np.einsum("li,jl->ij", A, B)' in text
    assert "#   A: A[0 + x1, 0 + x0 | x0 < m, x1 < k]" in text
    assert "#   m = m, n = n, k = k, alpha = alpha * 2.0:f64, beta = 1.0:f64 - beta" in text


def test_operands_of_several_types_are_refused() -> None:
    kernel = parse_kernel("kernel k(n; x: f64[n], y: f32[n]) { }")
    x, y = (whole(a) for a in kernel.arrays)
    step = Apply(operation("copy"), {"x": x, "y": y}, {"n": index("n")})
    with pytest.raises(PlanishError, match=r"E0840.*`copy` has operands of several types: `x` of f64, `y` of f32"):
        emit_numpy(Raised(kernel, (step,)))
