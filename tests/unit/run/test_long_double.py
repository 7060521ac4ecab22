"""What the tolerance refuses is judged by a reference in wider numbers; mistakes are found all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.oracle.comparison import Tolerance, Verdict, compare
from planish.run.oracle.long_double import can_widen, widen, widened_library
from planish.run.sizes.call_sizes import make_case
from planish.run.toolchains.toolchain import choose_compiler, compile_library

_MEAN = """
#include <math.h>
double f(int n, const float *x) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return sqrt(s / n); }
"""
_LANES = """
#include <math.h>
double f(int n, const float *x)
{
    float s[4] = {0};
    for (int i = 0; i < n; i++) s[i % 4] += x[i];
    return sqrt((s[0] + s[1] + (s[2] + s[3])) / n);
}
"""
_RECORD = """
struct stats { double mean; int n; };
void f(struct stats *r, int n, const float *x)
{
    float s = 0; for (int i = 0; i < n; i++) s += x[i];
    r->mean = s / n; r->n = n;
}
"""
_TYPED = """
typedef float real;
double f(int n, const real *x) { real s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
"""
_BITS = """
#include <stdint.h>
double f(int n, float *x) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s + (*(int32_t *)x & 1); }
"""
_JUMP = """
double f(int n, const float *x) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s > 1e9 ? 0 : s; }
"""

_FIXED = """
float f(const float x[50000]) { float s = 0; for (int i = 0; i < 50000; i++) s += x[i]; return s; }
"""
_NO_ARRAY = """
float f(void) { float q = 1; for (int i = 0; i < 50000; i++) q += 0.001f; return q; }
"""
_FIXED_LANES = """
float f(const float x[50000])
{
    float s[8] = {0};
    for (int i = 0; i < 50000; i++) s[i % 8] += x[i];
    return s[0] + s[1] + s[2] + s[3] + (s[4] + s[5] + s[6] + s[7]);
}
"""


def _verdict(original: str, rewritten: str, folder: Path, widely: bool = True) -> Verdict:
    function = read_c(Source("a.c", original)).functions[-1]
    signature = signature_of(function)
    assert signature is not None
    compiler, entry = choose_compiler(None), entry_text(signature)
    first, second = (compile_library(compiler, x + entry, ("-w", "-O1"), folder) for x in (original, rewritten))
    exact = widened_library(original, signature, compiler, ("-O1",), folder) if widely else None
    if widely and not can_widen(signature):
        pytest.skip("long double is no wider than double here")
    cases = [make_case(function, (), {"n": n} if signature.values else {}, seed=n) for n in (7, 300, 1000)]
    return compare(first, second, signature, cases, Tolerance(), exact=exact)


def _in_lanes(text: str) -> str:
    return (
        text.replace("s = 0;", "s = 0, t = 0;").replace("s += x[i];", "if (i % 2) s += x[i]; else t += x[i]; s += t;")
    )


@pytest.mark.parametrize(
    ("original", "rewritten"),
    [
        (_MEAN, _LANES),
        (_RECORD, _in_lanes(_RECORD)),
        (_TYPED, _in_lanes(_TYPED)),
        (_JUMP, _in_lanes(_JUMP)),
        (_FIXED, _FIXED_LANES),
    ],
)
def test_a_double_of_float_sums_is_judged_by_its_error(original: str, rewritten: str, tmp_path: Path) -> None:
    assert _verdict(original, rewritten, tmp_path, widely=False).status == "mismatch"
    assert _verdict(original, rewritten, tmp_path).status == "ok"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("i < n", "i < n - 1"),
        ("int i = 0", "int i = 1"),
        ("s[i % 4] += x[i]", "s[i % 4] += i == n / 2 ? -x[i] : x[i]"),
        ("+ (s[2] + s[3])", "+ (s[2] - s[3])"),
        ("+ (s[2] + s[3])", "+ s[2]"),
        ("/ n)", "/ (n + 1))"),
        ("x[i];", "x[i] * 1.0005f;"),
    ],
)
def test_mistakes_are_found_by_a_reference_in_wider_numbers(right: str, wrong: str, tmp_path: Path) -> None:
    assert _verdict(_MEAN, _LANES.replace(right, wrong), tmp_path).status == "mismatch"


def test_mistakes_in_sums_of_fixed_length_are_found(tmp_path: Path) -> None:
    for right, wrong in (("i < 50000", "i < 49990"), ("x[i];", "x[i] * 1.0005f;")):
        assert _verdict(_FIXED, _FIXED_LANES.replace(right, wrong), tmp_path).status == "mismatch"


def test_a_function_without_arrays_is_compared(tmp_path: Path) -> None:
    assert _verdict(_NO_ARRAY, _NO_ARRAY.replace("+=", "-= -"), tmp_path).status == "ok"
    assert _verdict(_NO_ARRAY, _NO_ARRAY.replace("0.001f", "0.0012f"), tmp_path).status == "mismatch"


def test_long_products_are_compared_where_they_are_numbers(tmp_path: Path) -> None:
    """Drawn from 0.5 to 1.5 they are what rounding leaves of the least numbers: nothing that a mistake would change."""
    right = "float f(const float x[9000]) { float p = 1; for (int i = 0; i < 9000; i++) p *= x[i]; return p; }"
    lanes = right.replace("p = 1;", "p = 1, q = 1;")
    lanes = lanes.replace("p *= x[i]; return p", "if (i % 2) p *= x[i]; else q *= x[i]; return p * q")
    good, bad = (_verdict(right, x, tmp_path) for x in (lanes, lanes.replace("i = 0", "i = 1")))
    assert good.status == "ok" and good.effects == good.cases_run
    assert bad.status == "mismatch"


def test_where_bits_are_read_the_tolerance_decides(tmp_path: Path) -> None:
    assert _verdict(_BITS, _in_lanes(_BITS), tmp_path).status == "mismatch"
    assert widen("float f(void) { union { float f; int i; } u; return u.f; }") is None


def test_a_wider_reference_that_fails_says_nothing(tmp_path: Path) -> None:
    text = _MEAN.replace("return", "if (sizeof(float) != 4) *(volatile int *)8 = 1; return")
    assert _verdict(text, _LANES, tmp_path).status == "mismatch"
