"""Which loops run in lanes, and not only may."""

from __future__ import annotations

import pytest

from planish.emit.c.kernel_text import emit_function
from planish.ir.nest import For
from planish.ir.passes.vector_loops import longest, runs_in_lanes, values_of
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk

HEAD = "kernel k(n, m; x: f32[n, 4], s: f32[])"


def first_in_lanes(body: str) -> tuple[For, bool]:
    """The first loop in lanes of a kernel, and whether it is one."""
    kernel = parse_kernel(f"{HEAD} {{ {body} }}")
    loop = next(x for x in walk(kernel.body) if isinstance(x, For) and x.facts.simd)
    return loop, runs_in_lanes(loop, values_of(kernel))


@pytest.mark.parametrize(
    ("body", "runs"),
    [
        ("for i in 0 .. n simd reduce(add: s) { s[] += x[i, 0] }", True),
        ("for i in 0 .. n step 3 simd reduce(add: s) { s[] += x[i, 0] }", True),
        ("for i in 0 .. 45 step 3 simd reduce(add: s) { s[] += x[i, 0] }", False),
        ("for i in 0 .. n simd reduce(add: s) { for k in 0 .. 4 { s[] += x[i, k] } }", True),
        ("for i in 0 .. n simd reduce(add: s) { for k in 0 .. m { s[] += x[i, k] } }", False),
        ("for i in 0 .. n simd reduce(add: s) { alloc t: f32[2] stack t[0] = x[i, 0] s[] += t[0] }", False),
        ("for i in 0 .. n simd { alloc t: f32[2] stack t[0] = x[i, 0] x[i, 1] = t[0] }", False),
        ("for i in 0 .. n simd { x[i, 1] = x[i, 0] }", True),
        ("let a = max(0, m - 3) let b = min(n, m + 2) for i in a .. b simd reduce(add: s) { s[] += x[i, 0] }", False),
        ("let a = max(0, m - 30) let b = min(n, m + 2) for i in a .. b simd reduce(add: s) { s[] += x[i, 0] }", True),
    ],
)
def test_lanes_need_values_enough_and_a_body_without_loops_and_arrays(body: str, runs: bool) -> None:
    loop, found = first_in_lanes(body)
    assert found is runs
    text = emit_function(parse_kernel(f"{HEAD} {{ {body} }}"), "k")
    assert ("planish_reduce(" in text or "s_add_lanes[" in text) is (runs and bool(loop.facts.reductions))


def test_the_longest_that_a_loop_may_be() -> None:
    loop, _ = first_in_lanes("for i in max(n, m) .. min(m + 9, 2 * n) step 2 simd { x[i, 0] = 0.0:f32 }")
    assert longest(loop) == 5


def test_each_kind_of_sum_has_lanes_beside_one_of_floats() -> None:
    body = "s[] += x[i, 0] a[] ^= 3:u8 b[] &= 5:u16 c[] *= 3:i64 d[] max= 3:i8"
    text = emit_function(parse_kernel(
        "kernel k(n; x: f32[n, 4], s: f32[], a: u8[], b: u16[], c: i64[], d: i8[])"
        f" {{ for i in 0 .. n step 2 simd reduce(add: s, xor: a, and: b, mul: c, max: d) {{ {body} }} }}"
    ), "k")  # fmt: skip
    for line in (
        "uint8_t a_xor_lanes[8];", "a_xor_lanes[l] = 0;", "b_and_lanes[l] = b_and;", "d_max_lanes[l] = d_max;",
        "c_mul = planish_wrap_mul_i64(c_mul, planish_mul_8_i64(c_mul_lanes));",
        "a_xor = a_xor ^ planish_xor_8_u8(a_xor_lanes);", "b_and = planish_and_8_u16(b_and_lanes);",
    ):  # fmt: skip
        assert line in text, text
