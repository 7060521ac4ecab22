"""The interpreter: exact widths, C's truncation, rounding, laziness, and accesses that are out of bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from planish.ir.expr import Binary, Const, Expr, Load, Var
from planish.ir.nest import Array, Assign, Block, For, Kernel, Let, Stmt
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.types import BY_NAME, F64, INDEX


def evaluate(text: str, type: str, **scalars: Any) -> Any:
    """The value of an expression over scalars given as `name=(type, value)`."""
    heads = "".join(f"{name}: {t}, " for name, (t, _) in scalars.items())
    kernel = parse_kernel(f"kernel k({heads}out: {type}[]) {{ out[] = {text} }}")
    out = np.zeros((), BY_NAME[type].numpy)
    run_kernel(kernel, {"out": out, **{name: value for name, (_, value) in scalars.items()}})
    return out.item()


@pytest.mark.parametrize(
    ("text", "type", "wanted"),
    [
        ("a + 100:i8", "i8", -56),
        ("a * a", "i8", 16),
        ("u8(a) + 200:u8", "u8", 44),
        ("u8(a) - 101:u8", "u8", 255),
        ("-u32(1:i32)", "u32", 2**32 - 1),
        ("2147483647:i32 + i32(a)", "i32", -(2**31) + 99),
        ("9223372036854775807 + i64(a)", "i64", -(2**63) + 99),
        ("4611686018427387904 * 4", "i64", 0),
        ("quo(-7, 2)", "i64", -3),
        ("rem(-7, 2)", "i64", -1),
        ("rem(7, -2)", "i64", 1),
        ("-7 // 2", "i64", -4),
        ("-7 % 2", "i64", 1),
        ("-7 >> 1", "i64", -4),
        ("248:u8 >> 3:u8", "u8", 31),
        ("a << 1:i8", "i8", -56),
        ("~a", "i8", -101),
        ("~200:u8", "u8", 55),
        ("a & 15:i8 | 64:i8 ^ 3:i8", "i8", 71),
        ("i8(200)", "i8", -56),
        ("u16(-1)", "u16", 65535),
        ("i32(-2.9)", "i32", -2),
        ("i32(true) + 1:i32", "i32", 2),
        ("bool(0.5)", "bool", True),
        ("abs(-128:i8)", "i8", -128),
        ("min(3, -4)", "i64", -4),
        ("max(a, 101:i8)", "i8", 101),
        ("true ^ false", "bool", True),
        ("!(a == 100:i8)", "bool", False),
    ],
)
def test_integers_have_exact_width(text: str, type: str, wanted: int) -> None:
    assert evaluate(text, type, a=("i8", 100)) == wanted


@pytest.mark.parametrize(
    ("text", "type", "wanted"),
    [
        ("0.1:f32 + 0.2:f32", "f32", float(np.float32(0.1) + np.float32(0.2))),
        ("f32(0.1) * f32(3)", "f32", float(np.float32(0.1) * np.float32(3))),
        ("2048.0:f16 + 1.0:f16", "f16", 2048.0),
        ("60000.0:f16 * 2.0:f16", "f16", math.inf),
        ("256.0:bf16 + 1.0:bf16", "bf16", 256.0),
        ("bf16(1.00390625)", "bf16", 1.0),
        ("bf16(1.01171875)", "bf16", 1.015625),
        ("f32(16777217)", "f32", 16777216.0),
        ("f32(9007199791611905)", "f32", 9007200328482816.0),
        ("1.0 / 0.0", "f64", math.inf),
        ("-1.0 / 0.0", "f64", -math.inf),
        ("1.0:f32 / 0.0:f32", "f32", math.inf),
        ("log(0.0)", "f64", -math.inf),
        ("exp(1000.0)", "f64", math.inf),
        ("pow(2.0, 10.0)", "f64", 1024.0),
        ("round(-2.5)", "f64", -3.0),
        ("rint(-2.5)", "f64", -2.0),
        ("round(0.49999999999999994)", "f64", 0.0),
        ("floor(-0.5)", "f64", -1.0),
        ("fmin(nan, 1.0)", "f64", 1.0),
        ("fma(134217729.0, 134217729.0, -18014398777917440.0)", "f64", 1.0),
        ("fma(16777216.0:f32, 1.0:f32, 1.0:f32)", "f32", 16777216.0),
        ("sqrt(2.0:f32)", "f32", float(np.sqrt(np.float32(2)))),
        ("f64(0.1:f32)", "f64", float(np.float32(0.1))),
    ],
)
def test_floats_round_after_every_operation(text: str, type: str, wanted: float) -> None:
    assert evaluate(text, type) == wanted


@pytest.mark.parametrize("text", ["sqrt(-1.0)", "0.0 / 0.0", "log(-1.0)", "inf - inf", "fmod(inf, 2.0)", "sin(inf)"])
def test_invalid_operations_give_nan(text: str) -> None:
    assert math.isnan(evaluate(text, "f64"))


@pytest.mark.parametrize(
    "text", ["quo(a, 0)", "rem(a, 0)", "a // 0", "a % 0", "a << 64", "a >> -1", "i64(1e300)", "i64(nan)"]
)
def test_undefined_operations_raise(text: str) -> None:
    with pytest.raises(ArithmeticError):
        evaluate(text, "i64", a=("i64", 5))


@pytest.mark.parametrize(
    "text",
    [
        "select(n > 10, A[n], 1.0)",
        "select(n > 10 && A[n] > 0.0, 2.0, 1.0)",
        "select(n < 10 || A[n] > 0.0, 1.0, 2.0)",
    ],
)
def test_what_is_not_chosen_is_not_evaluated(text: str) -> None:
    kernel = parse_kernel(f"kernel k(n; A: f64[n], out: f64[]) {{ out[] = {text} }}")
    out = np.zeros(())
    run_kernel(kernel, {"n": 3, "A": np.zeros(3), "out": out})
    assert out.item() == 1.0


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ("A[i - 1, 0]", r"A: subscript 1 is -1, outside 0 \.\. 3"),
        ("A[0, i + 2]", r"A: subscript 2 is 4, outside 0 \.\. 4"),
        ("A[n, 0]", r"A: subscript 1 is 3, outside 0 \.\. 3"),
    ],
)
def test_out_of_bounds_is_an_error(access: str, message: str) -> None:
    kernel = parse_kernel(f"kernel k(n; A: f32[n, 4]) {{ for i in 0 .. n {{ {access} = 1.0:f32 }} }}")
    with pytest.raises(IndexError, match=message):
        run_kernel(kernel, {"n": 3, "A": np.zeros((3, 4), "float32")})


def test_loops_steps_lets_and_local_arrays() -> None:
    text = """kernel k(n; A: i32[n], B: i64[]) {
      alloc t: i32[n]
      for i in 0 .. n { t[i] = A[i] * 2:i32 }
      for i in 1 .. n - 1 step 2 {
        let around = t[i - 1] + t[i + 1]
        if around > 20:i32 { A[i] = around } else { A[i] = -around }
        B[] += i
      }
    }"""
    a, b = np.arange(8, dtype="int32"), np.zeros((), "int64")
    run_kernel(parse_kernel(text), {"n": 8, "A": a, "B": b})
    assert a.tolist() == [0, -4, 2, -12, 4, -20, 6, 7]
    assert b.item() == 9


def test_fresh_local_arrays_are_poisoned() -> None:
    kernel = parse_kernel("kernel k(out: f64[]) { alloc t: f64[2] stack out[] = t[1] }")
    out = np.zeros(())
    run_kernel(kernel, {"out": out})
    assert math.isnan(out.item())


def test_tables_hold_what_is_written_row_after_row() -> None:
    body = "alloc w: f32[2, 2] table (1.0, -0.5, 3.0, 4.0) for i in 0 .. 2 { for j in 0 .. 2 { out[j, i] = w[i, j] } }"
    out = np.zeros((2, 2), "float32")
    run_kernel(parse_kernel(f"kernel k(out: f32[2, 2]) {{ {body} }}"), {"out": out})
    assert out.tolist() == [[1.0, 3.0], [-0.5, 4.0]]


def test_arrays_may_share_memory_and_have_strides() -> None:
    kernel = parse_kernel("kernel k(n; A: f64[n], B: f64[n]) { for i in 0 .. n { A[i] = B[i] + 1.0 } }")
    memory = np.zeros(9)
    run_kernel(kernel, {"n": 4, "A": memory[1:5], "B": memory[0:4]})
    assert memory[:5].tolist() == [0, 1, 2, 3, 4]
    wide = np.zeros((4, 3))
    run_kernel(kernel, {"n": 4, "A": wide[:, 1], "B": wide[:, 0]})
    assert wide[:, 1].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"A": np.zeros(3)}, "no value for n"),
        ({"n": 3}, "no array for A"),
        ({"n": 3, "A": np.zeros(4)}, "extent 4 in dimension 1, not 3"),
        ({"n": 3, "A": np.zeros((3, 1))}, "2 dimensions, not 1"),
        ({"n": 3, "A": np.zeros(3, "float32")}, "holds float32"),
        ({"n": 0, "A": np.zeros(0)}, "assumption 1"),
    ],
)
def test_values_must_fit(values: dict[str, Any], message: str) -> None:
    kernel = parse_kernel("kernel k(n; A: f64[n]) assume n >= 1 { A[0] = 1.0 }")
    with pytest.raises(ValueError, match=message):
        run_kernel(kernel, values)


def test_deep_nests_and_long_expressions() -> None:
    total: Expr = Const(0.0, F64)
    for i in range(300):
        total = Binary("add", total, Const(float(i), F64))
    body: Stmt = Assign("s", (), Binary("add", Load("s", (), F64), total))
    for depth in range(30):
        body = For(f"i{depth}", Const(0, INDEX), Const(1, INDEX), 1, Block((body, Let("x", Var(f"i{depth}", INDEX)))))
    s = np.zeros(())
    run_kernel(Kernel("deep", arrays=(Array("s", F64),), body=Block((body,))), {"s": s})
    assert s.item() == 300 * 299 / 2


def test_ranges_do_not_hide_wrapping() -> None:
    text = "kernel k(n; A: i64[1]) { for i in n .. n + 1 { A[0] = i * i * i } }"
    a = np.zeros(1, "int64")
    run_kernel(parse_kernel(text), {"n": 3_000_000, "A": a})
    assert a[0] == (3_000_000**3 + 2**63) % 2**64 - 2**63
