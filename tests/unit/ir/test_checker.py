"""The checker: each rule refuses a kernel that breaks only it, and names the stage."""

from __future__ import annotations

import pytest

from planish.core.diagnostic import PlanishError
from planish.ir.checker import check_kernel
from planish.ir.text.parser import parse_kernel

HEAD = "kernel k(n, m; a: f64, p: bool; A: f64[n], B: i32[?, 4], s: f64[]) "
GOOD = [
    "{ for i in 0 .. n reduce(add: s) { s[] += A[i] * a } }",
    "{ for i in 0 .. n { let t = A[i] A[i] = t } for i in 0 .. m { let t = B[i, 0] B[i, 1] = t } }",
    "assume n >= 1 && m < n { if p { A[0] = select(p, sqrt(a), -a) } }",
    "{ alloc buf: i32[2, n] stack buf[0, 1] &= abs(B[0, 1]) }",
    "{ B[0, 0] = i32(a) + quo(B[0, 1], 3:i32) << 2:i32 }",
]
BAD = [
    ("{ for n in 0 .. 4 { } }", "E0410"),
    ("{ for i in 0 .. 4 { for i in 0 .. 4 { } } }", "E0410"),
    ("{ let A = 1 }", "E0410"),
    ("{ alloc s: f64[3] }", "E0410"),
    ("{ n[] = 3 }", "E0410"),
    ("{ a[] = 3.0 }", "E0410"),
    ("{ C[] = 3.0 }", "E0410"),
    ("{ A[0] = A:f64 }", "E0410"),
    ("{ A[0] = x:f64 }", "E0410"),
    ("{ A[0] = n[]:f64 }", "E0410"),
    ("assume B[0, 0] > 0:i32 { }", "E0410"),
    ("assume a > 0.0 { }", "E0410"),
    ("{ for i in 0 .. n { alloc b: f64[i] } }", "E0410"),
    ("{ A[0] = 1 }", "E0411"),
    ("{ A[0] = a + 1.0:f32 }", "E0411"),
    ("{ A[0] = a:f32 }", "E0411"),
    ("{ A[0] = f64(B[0, 0]:i64) }", "E0411"),
    ("{ A[a] = a }", "E0411"),
    ("{ for i in 0 .. a { } }", "E0411"),
    ("{ if n { } }", "E0411"),
    ("{ A[0] = select(n, a, a) }", "E0411"),
    ("{ A[0] = select(p, a, 0) }", "E0411"),
    ("{ A[0] = a % a }", "E0411"),
    ("{ let t = n / m }", "E0411"),
    ("{ let t = !n }", "E0411"),
    ("{ let t = ~a }", "E0411"),
    ("{ let t = -p }", "E0411"),
    ("{ let t = n < a }", "E0411"),
    ("{ A[0] &= a }", "E0411"),
    ("{ let t = p + p }", "E0411"),
    ("{ A[0, 0] = a }", "E0412"),
    ("{ A[] = a }", "E0412"),
    ("{ let t = B[0] }", "E0412"),
    ("{ alloc b: f64[?] }", "E0412"),
    ("{ for i in 0 .. n step 0 { } }", "E0413"),
    ("{ for i in 0 .. n step -1 { } }", "E0413"),
    ("{ for i in 0 .. n unroll -2 { } }", "E0413"),
    ("{ for i in 0 .. n reduce(add: A) { } }", "E0413"),
    ("{ for i in 0 .. n reduce(add: q) { } }", "E0413"),
    ("{ A[0] = gamma(a) }", "E0414"),
    ("{ A[0] = sqrt(a, a) }", "E0414"),
    ("{ A[0] = sqrt(n) }", "E0414"),
    ("{ A[0] = abs(a) }", "E0414"),
    ("{ let t = 300:u8 }", "E0415"),
    ("{ let t = -1:u8 }", "E0415"),
    ("{ let t = 2.5:i32 }", "E0415"),
    ("{ let t = inf:i32 }", "E0415"),
    ("{ alloc t: f64[3] table (1.0, 2.0) }", "E0416"),
    ("{ alloc t: f64[n] table (1.0, 2.0) }", "E0416"),
    ("{ alloc t: f64[2] table (1.0, 2.0) t[0] = 1.0 }", "E0416"),
    ("{ alloc t: f64[2] table (1.0, 2.0) t[0] += 1.0 }", "E0416"),
]


@pytest.mark.parametrize("body", GOOD)
def test_good_kernels_pass(body: str) -> None:
    check_kernel(parse_kernel(HEAD + body), "test")


@pytest.mark.parametrize(("body", "code"), BAD)
def test_each_fault_is_named(body: str, code: str) -> None:
    with pytest.raises(PlanishError) as caught:
        check_kernel(parse_kernel(HEAD + body), "tiling")
    assert caught.value.diagnostic.code == code
    assert "after tiling, in kernel `k`" in caught.value.diagnostic.message


def test_parameters_are_bound_once() -> None:
    with pytest.raises(PlanishError, match="E0410.*`n` is bound twice"):
        check_kernel(parse_kernel("kernel k(n; n: f64) { }"), "test")


def test_only_the_first_extent_may_be_unknown() -> None:
    with pytest.raises(PlanishError, match="E0412"):
        check_kernel(parse_kernel("kernel k(A: f64[4, ?]) { }"), "test")


def test_the_statement_is_pointed_at() -> None:
    text = "kernel k(A: f64[4]) {\n  A[0] = 1.0\n  A[1] = 2\n}"
    with pytest.raises(PlanishError) as caught:
        check_kernel(parse_kernel(text, "k.ir"), "test")
    assert str(caught.value.diagnostic.span) == "k.ir:3:3"
