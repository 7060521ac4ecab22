"""The emitted text: signatures, names, pragmas, literals, parentheses, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import call, compile_kernels, compile_text

from planish.core.diagnostic import PlanishError
from planish.emit.c.expression import emit_expr
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import HELPERS, emit_prologue
from planish.emit.idioms.strip_mined_math import BLOCKS
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_expr, parse_kernel


def emit(text: str, **options: Any) -> str:
    return emit_function(parse_kernel(text), "f", **options)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a - (b - c)", "a - (b - c)"),
        ("a - b - c", "a - b - c"),
        ("a * (b + c) - -(d)", "a * (b + c) - (-d)"),
        ("-(-(a))", "-(-a)"),
        ("a < b && c < d || e == f", "(a < b && c < d) || e == f"),
        ("p:bool == (a < b)", "p == (a < b)"),
        ("(a & 3 | b) << 2", "((a & 3) | b) << 2"),
        ("(a + b) >> 1", "(a + b) >> 1"),
        ("select(a < b, a, b) + 1", "(a < b ? a : b) + 1"),
        ("select(a < b, a, select(c < d, c, d))", "a < b ? a : (c < d ? c : d)"),
        ("2000000000 * 2", "2000000000ll * 2"),
        ("1 << n", "1ll << n"),
        ("5000000000", "5000000000ll"),
        ("-9223372036854775807 - 1", "-9223372036854775807ll - 1"),
        ("-9223372036854775808 + n", "-9223372036854775807ll - 1 + n"),
        ("3:u32 - x:u32", "3u - x"),
        ("x:i8 + y:i8", "(int8_t)(x + y)"),
        ("x:u16 * y:u16", "(uint16_t)((uint32_t)x * y)"),
        ("x:f16 + 1.5:f16", "(_Float16)(x + (_Float16)1.5f)"),
        ("x:f32 * 0.1:f32", "x * 0.1f"),
        ("x:f64 * 0.1", "x * 0.1"),
        ("sqrt(x:f32) + fma(x:f32, x:f32, x:f32)", "sqrtf(x) + fmaf(x, x, x)"),
        ("f32(i)", "(float)i"),
        ("i64(i)", "i"),
        ("min(a, max(b, 0))", "planish_min(a, planish_max(b, 0))"),
        ("min(x:u8, y:u8)", "planish_min_u8(x, y)"),
        ("(a + 1) // 3 % 7", "planish_mod(planish_floordiv(a + 1, 3), 7)"),
        ("(a + 1) // 4 % 8", "((a + 1) >> 2) & 7"),
        ("a // 4 * 4 + 1", "(a >> 2) * 4 + 1"),
        ("x:u32 // 4:u32", "x / 4u"),
        ("quo(a, 4) * rem(b, 3)", "a / 4 * (b % 3)"),
        ("!(a < b)", "!(a < b)"),
        ("~x:u8", "(uint8_t)~x"),
        ("inf + x:f64", "(double)INFINITY + x"),
        ("A[i, 2 * j]:f64 / s[]:f64", "A[i][2 * j] / s"),
    ],
)
def test_expressions(text: str, wanted: str) -> None:
    assert emit_expr(parse_expr(text)) == wanted


def test_division_of_what_cannot_be_negative_is_plain() -> None:
    text = emit("kernel k(n; A: f64[n]) { for i in 0 .. n { A[i // 2] = f64((i + 3) % 5 + (i - 1) // 3) } }")
    assert "A[i / 2] = (double)((i + 3) % 5 + planish_floordiv(i - 1, 3));" in text


def test_parameters() -> None:
    head = emit(
        "kernel k(n, m; a: f32, p: bool; A: f64[n, m] distinct, B: f64[n, m], v: u8[?], w: i16[n] distinct, s: f32[]) "
        "{ w[0] = i16(v[0]) s[] = f32(A[0, 0]) }"
    )
    signature = " ".join(head[: head.index("\n{")].split())
    assert signature == (
        "static void f( ptrdiff_t n, ptrdiff_t m, float a, _Bool p, double (*restrict A)[m], double (*B)[m], "
        "const uint8_t *v, int16_t *restrict w, float *s)"
    )
    assert "(void)n;" in head
    assert "(void)m;" not in head


def test_noalias_restricts_every_pointer() -> None:
    text = "kernel k(n; A: f64[n], B: f64[n]) { A[0] = B[0] }"
    assert "restrict" not in emit(text)
    assert "(ptrdiff_t n, double *restrict A, const double *restrict B)" in emit(text, noalias=True)


def test_names_that_c_or_the_emitter_needs_are_changed() -> None:
    body = "for sqrt in 0 .. int { let N = A[sqrt] A[sqrt] = sqrt(N) + f[] }"
    text = emit(f"kernel k(int; A: f64[int], f: f64[]) {{ {body} }}", reserved={"N"})
    assert "ptrdiff_t int_, double *A, const double *f_" in text
    assert "for (ptrdiff_t sqrt_ = 0; sqrt_ < int_; sqrt_++)" in text
    assert "A[sqrt_] = sqrt(A[sqrt_]) + *f_;" in text


def test_a_changed_name_does_not_hit_another() -> None:
    text = emit("kernel k(int, int_; A: f64[1]) { A[0] = f64(int - int_) }")
    assert "A[0] = (double)(int__ - int_);" in text


SUM = "kernel k(n; x: f64[n], s: f64[]) { for i in 0 .. n parallel simd reduce(add: s) unroll 4 { s[] += x[i] } }"


def test_reductions_have_a_variable_of_their_own() -> None:
    text = emit(SUM)
    assert "double s_add = *s;" in text
    names = "planish_plus, planish_fold_add_32_8_f64, planish_add_8_f64"
    assert f"planish_reduce(double, 32, 8, s_add, 0, {names}, i, 0, n," in text
    assert "{ planish_sum s_add += x[i]; })" in text
    assert "*s = s_add;" in text
    assert "#pragma omp parallel for simd reduction(+:s_add)" in emit(SUM, threads=True)


def test_strict_keeps_the_order_of_float_sums() -> None:
    text = emit(SUM, strict=True, threads=True)
    assert "omp" not in text
    assert '_Pragma("GCC unroll 4") for (' in text
    assert "planish_lanes" not in text
    assert "planish_reduce(int32_t, " in emit(SUM.replace("f64", "i32"), strict=True)


@pytest.mark.parametrize(
    ("body", "apart"),
    [
        ("A[i] = B[i] * c - A[i] A[i] = A[i] + 1.0:f64", True),
        ("A[i] += -(B[i] * c)", True),
        ("A[i] = B[i] * c + A[i]", False),
        ("A[i] = B[i] * c - A[i]", False),
        ("A[i] = B[i] * c I[i] = I[i] * 2 - 1", False),
    ],
)
def test_exact_products_stand_apart_where_floats_are_added_and_subtracted(body: str, apart: bool) -> None:
    text = f"kernel k(n; c: f64; A: f64[n], B: f64[n], I: i64[n]) {{ for i in 0 .. n {{ {body} }} }}"
    assert ("planish_rounded(B[i] * c)" in emit(text, exact=True)) == apart
    assert "planish_rounded" not in emit(text)


def test_heap_arrays_stand_at_the_top_only() -> None:
    with pytest.raises(PlanishError, match="E0713.*inside of a loop"):
        emit("kernel k(n) { for i in 0 .. n { alloc t: f64[n] t[0] = 1.0 } }")


def test_no_memory_means_nothing_was_done(tmp_path: Path) -> None:
    body = "A[] = 1.0 alloc t: f64[n] alloc u: f64[n, n] t[0] = 2.0 u[0, 0] = t[0]"
    kernel = parse_kernel(f"kernel k(n; A: f64[]) {{ {body} }}")
    (function,) = compile_kernels([kernel], tmp_path)
    cell = np.zeros(())
    assert call(function, kernel, {"n": 2**40, "A": cell}) == 1
    assert cell.item() == 0.0
    assert call(function, kernel, {"n": 3, "A": cell}) == 0
    assert cell.item() == 1.0


def test_what_nothing_uses_is_left_out() -> None:
    text = emit("kernel k(n; A: f64[]) { let a = n let b = a alloc t: f64[4] alloc u: f64[n] A[] = 0.0 }")
    assert text == "static void f(ptrdiff_t n, double *A)\n{\n  (void)n;\n  *A = 0.0;\n}\n"


def test_bounds_that_the_body_changes_are_evaluated_once(tmp_path: Path) -> None:
    kernel = parse_kernel("kernel k(m: i64[], A: i64[]) { for i in 0 .. m[] { m[] += 1 A[] += i } }")
    (function,) = compile_kernels([kernel], tmp_path)
    m, total = np.array(4), np.array(0)
    call(function, kernel, {"m": m, "A": total})
    assert (m.item(), total.item()) == (8, 6)


@pytest.mark.parametrize("value", ["A[0] * A[1]", "-A[0]", "bf16(f64(A[0]))", "max(A[0], A[1])", "sqrt(A[0])"])
def test_arithmetic_in_bf16_is_refused(value: str) -> None:
    with pytest.raises(PlanishError, match="E0710"):
        emit(f"kernel k(A: bf16[4]) {{ A[2] = {value} }}")
    with pytest.raises(PlanishError, match="E0710"):
        emit("kernel k(A: bf16[4]) { A[0] += A[1] }")


def test_bf16_values_are_their_bits(tmp_path: Path) -> None:
    kernel = parse_kernel(
        "kernel k(n; A: bf16[n], B: f32[n], C: bf16[n]) { C[0] = 1.5:bf16 for i in 1 .. n {"
        " C[i] = select(f32(A[i]) > 2.0:f32, A[i], bf16(f32(A[i]) * B[i])) } }"
    )
    (function,) = compile_kernels([kernel], tmp_path)
    a = np.array([1.0, 3.0, -1.0, 2.0, np.nan, 0.5], dtype=np.float32)
    b = np.array([1.0, 2.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1.0, np.inf], dtype=np.float32)
    bits, out = (a.view(np.uint32) >> 16).astype(np.uint16), np.zeros(6, np.uint16)
    call(function, kernel, {"n": 6, "A": bits, "B": b, "C": out})
    found = (out.astype(np.uint32) << 16).view(np.float32)
    # Ties go to even: 1 + 2^-8 to 1, and 2 + 6 * 2^-8 to 2 + 8 * 2^-8.
    np.testing.assert_array_equal(found, np.array([1.5, 3.0, -1.0, 2.03125, np.nan, np.inf], np.float32))


def test_a_call_from_user_code_brings_no_warning(tmp_path: Path, need_compiler: Any) -> None:
    text = emit_function(
        parse_kernel(
            "kernel k(ni; alpha: f64; C: f64[1000, 1100] distinct, x: f64[1100], s: f64[]) {"
            " for i in 0 .. ni simd { C[i, 0] = alpha * x[i] } s[] = x[0] }"
        ),
        "planish_k",
    )
    user = """
    void user(int ni, double C[1000][1100], const double x[1100]) {
      double s;
      planish_k(ni, 1.5, C, x, &s);
      C[0][0] = s;
    }
    void constant(int ni, double *A, const double B[1000][1100]) {
      double s;
      planish_k(ni, 1.5, (void *)A, B[0], &s);
      A[0] = s;
    }
    """
    for compiler in ("gcc", "clang-19"):
        need_compiler(compiler)
        compile_text(emit_prologue([text]) + user, tmp_path, compiler, ("-O3",))


def test_helpers_are_written_once_and_compile(tmp_path: Path) -> None:
    # Those of a block are made of a machine's own instructions.
    own = {z.name for z in BLOCKS.values()} | {x for x, y in HELPERS.items() if "HVX_" in y}
    plain = {x: y for x, y in HELPERS.items() if x not in own}
    text = emit_prologue([f"/* {name}() */" for name in plain] * 2)
    for name, source in plain.items():
        assert text.count(source) == 1, name
    # These are no inline functions, and are written only where they are used.
    use = "void *(*borrow)(size_t) = planish_borrow;\nvoid (*give_back)(void *) = planish_return;\n"
    compile_text(text + use, tmp_path)


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@pytest.mark.parametrize("type", ["i32", "i64"])
@pytest.mark.parametrize(
    "choice",
    [
        "select(x[i] > HIGH, HIGH, max(x[i], LOW))", "select(HIGH <= x[i], HIGH, max(x[i], LOW))",
        "select(x[i] <= HIGH, max(x[i], LOW), HIGH)", "select(x[i] < LOW, LOW, min(x[i], HIGH))",
        "select(x[i] > LOW, LOW, max(x[i], HIGH))",  # that is something else
    ],
)  # fmt: skip
def test_bounds_of_bytes_are_kept(choice: str, type: str, compiler: str, tmp_path: Path, need_compiler: Any) -> None:
    need_compiler(compiler)
    value = choice.replace("HIGH", f"127:{type}").replace("LOW", f"-128:{type}")
    kernel = parse_kernel(f"kernel k(n; x: {type}[n], y: i8[n]) {{ for i in 0 .. n {{ y[i] = i8({value}) }} }}")
    (function,) = compile_kernels([kernel], tmp_path, compiler, ("-O2",))
    x = np.array([-1000, -129, -128, -127, 0, 126, 127, 128, 133, 1000], np.int32 if type == "i32" else np.int64)
    found, wanted = (np.zeros(x.size, np.int8) for _ in range(2))
    call(function, kernel, {"n": x.size, "x": x, "y": found})
    run_kernel(kernel, {"n": x.size, "x": x, "y": wanted})
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    ("value", "type", "alone"),
    [
        ("u32(abs(i32(x[i]) - i32(y[i])))", "u8", True),
        ("let d = i32(x[i]) - i32(y[i]) s[] += u32(d * d)", "u8", True),
        ("u32(x[i])", "u8", False), ("x[i] * y[i]", "u32", False), ("u32(abs(i32(x[i]) - 1:i32))", "u32", False),
    ],
)  # fmt: skip
def test_sums_for_which_processors_have_instructions_have_one_place(value: str, type: str, alone: bool) -> None:
    """Products and absolute differences of narrow elements; others have a place for each lane."""
    body = value if value.startswith("let") else f"s[] += {value}"
    loop = f"for i in 0 .. n simd reduce(add: s) {{ {body} }}"
    text = emit(f"kernel k(n; x: {type}[n], y: {type}[n], s: u32[]) {{ {loop} }}")
    assert ("planish_reduce(" not in text and "_lanes[" not in text) is alone


def test_c99_is_enough(tmp_path: Path) -> None:
    text = emit("kernel k(n; A: f64[n]) { alloc t: f64[n] for i in 0 .. n { t[i] = A[i] } A[0] = t[n - 1] }")
    use = "int (*g)(ptrdiff_t, double *) = f;\n"
    compile_text(emit_prologue([text]) + use, tmp_path, "gcc", ("-std=c99", "-pedantic"))
