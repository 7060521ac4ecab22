"""The oracle: right candidates pass, and each kind of wrong one is caught."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.ir.types import ALL_TYPES, BF16, F16, F32, F64, I32, U8, Type
from planish.run.oracle.comparison import CallCase, Limits, Parameter, Signature, Tolerance, Verdict, compare, survey
from planish.run.toolchains.c_type_names import c_name

Build = Callable[[str, Signature], Path]

SCALE = Signature("scale", (Parameter("n", I32, "value"), Parameter("x", F64, "array")), None)
DOT = Signature(
    "dot", (Parameter("n", I32, "value"), Parameter("x", F64, "array"), Parameter("y", F64, "array")), F64
)
AMPLE = Limits(30)
SCALE_C = "static void scale(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 2; }"
DOT_C = """
double dot(int n, const double *x, const double *y) {
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i] * y[i];
  return s;
}
"""
DOT_BACKWARD_C = DOT_C.replace("int i = 0; i < n; i++", "int i = n; i-- > 0;")


def cases(*sizes: int, arrays: str = "x") -> list[CallCase]:
    return [CallCase({"n": n}, dict.fromkeys(arrays, n), seed=n) for n in sizes]


def check(build: Build, candidate: str, limits: Limits = AMPLE) -> Verdict:
    return compare(build(SCALE_C, SCALE), build(candidate, SCALE), SCALE, cases(0, 1, 17), "exact", limits)


def test_the_same_function_is_ok(build: Build) -> None:
    verdict = check(build, "void scale(int n, double *x) { while (n-- > 0) x[n] += x[n]; }")
    assert (verdict.status, verdict.cases_run, verdict.worst_absolute) == ("ok", 3, 0.0)


def test_a_wrong_element_is_found_with_its_place(build: Build) -> None:
    verdict = check(build, "void scale(int n, double *x) { for (int i = 0; i < n; i++) if (i != 13) x[i] *= 2; }")
    assert verdict.status == "mismatch"
    assert verdict.where is not None
    assert (verdict.where.array, verdict.where.index, verdict.where.case) == ("x", 13, 2)
    assert verdict.where.want == 2 * (verdict.where.got or 0)
    assert "x[13]" in verdict.message and "n=17" in verdict.message


def test_memory_that_is_read_before_it_is_written_holds_no_zeros(build: Build) -> None:
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("only glibc fills memory")
    lucky = """
    #include <stdlib.h>
    void scale(int n, double *x) {
      double *volatile t = malloc(64 + 8 * (size_t)n);
      for (int i = 0; i < n; i++) x[i] = 2 * x[i] + t[i];
      free(t);
    }"""
    assert check(build, lucky).status == "mismatch"


@pytest.mark.parametrize(
    ("placement", "body"),
    [("end", "volatile double t = x[n]; (void)t;"), ("start", "volatile double t = x[-1]; (void)t;")],
)
def test_a_read_outside_an_array_crashes(build: Build, placement: str, body: str) -> None:
    wrong = f"void scale(int n, double *x) {{ for (int i = 0; i < n; i++) x[i] *= 2; {body} }}"
    case = CallCase({"n": 5}, {"x": 5}, placement="end" if placement == "end" else "start")
    verdict = compare(build(SCALE_C, SCALE), build(wrong, SCALE), SCALE, [case])
    assert verdict.status == "crashed"
    assert "SIGSEGV" in verdict.message and "n=5" in verdict.message


def test_a_write_on_the_unguarded_side_is_a_mismatch(build: Build) -> None:
    wrong = "void scale(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 2; x[-1] = 3; }"
    verdict = compare(build(SCALE_C, SCALE), build(wrong, SCALE), SCALE, cases(5))
    assert verdict.status == "mismatch"
    assert "outside of the array x" in verdict.message


def test_an_endless_candidate_is_a_timeout(build: Build) -> None:
    verdict = check(build, "void scale(int n, double *x) { for (volatile int i = 0; ; i++) ; }", Limits(1.0))
    assert verdict.status == "timeout"


def test_a_flood_of_memory_is_told_apart_from_a_crash(build: Build) -> None:
    flood = (
        "#include <stdlib.h>\n#include <string.h>\n"
        "void scale(int n, double *x) { for (;;) { char *p = malloc(1 << 22); memset(p, 1, 1 << 22); } }"
    )
    assert check(build, flood, Limits(30, 256 << 20)).status == "memory"


def test_a_candidate_that_exits_is_a_crash(build: Build) -> None:
    verdict = check(build, "#include <stdlib.h>\nvoid scale(int n, double *x) { exit(0); }")
    assert verdict.status == "crashed"


def test_a_broken_reference_is_not_comparable(build: Build) -> None:
    crash = build("void scale(int n, double *x) { x[n + 1000] = 0; }", SCALE)
    verdict = compare(crash, build(SCALE_C, SCALE), SCALE, cases(600))
    assert verdict.status == "not comparable"


def test_a_library_without_entry_cannot_be_called(build: Build, tmp_path: Path) -> None:
    empty = tmp_path / "empty.so"
    empty.write_bytes(b"not a library")
    verdict = compare(build(SCALE_C, SCALE), empty, SCALE, cases(3))
    assert verdict.status == "crashed"
    assert compare(empty, build(SCALE_C, SCALE), SCALE, cases(3)).status == "not comparable"
    assert "candidate" in verdict.message


def test_reordered_sums_need_a_tolerance(build: Build) -> None:
    pair = (build(DOT_C, DOT), build(DOT_BACKWARD_C, DOT))
    sizes = cases(0, 1, 1000, arrays="xy")
    exact = compare(*pair, DOT, sizes, "exact")
    assert exact.status == "mismatch"
    assert exact.where is not None and exact.where.array == "return"
    loose = compare(*pair, DOT, sizes, Tolerance())
    assert loose.status == "ok"
    assert 0 < loose.worst_relative < 1e-12


def test_a_dropped_term_is_no_rounding(build: Build) -> None:
    dropped = DOT_C.replace("i < n;", "i < n - (n > 999);")
    verdict = compare(build(DOT_C, DOT), build(dropped, DOT), DOT, cases(0, 1, 1000, arrays="xy"), Tolerance())
    assert verdict.status == "mismatch"


def test_whole_numbers_catch_what_rounding_would_hide(build: Build) -> None:
    """A relative error of 1e-14 lies within the tolerance on random data and is seen on exact data."""
    source = "static double bump(double s) { union { double d; long i; } u = {s}; u.i += 8; return u.d; }\n"
    bumped = source + DOT_C.replace("return s;", "return n ? bump(s) : s;")
    verdict = compare(build(DOT_C, DOT), build(bumped, DOT), DOT, cases(1000, arrays="xy"), Tolerance())
    assert verdict.status == "mismatch"


def test_numbers_of_both_signs_are_drawn_where_positive_ones_change_nothing(build: Build) -> None:
    relu = "void scale(int n, double *x) { for (int i = 0; i < n; i++) x[i] = x[i] > 0 ? x[i] : 0; }"
    verdict = compare(build(relu, SCALE), build(relu, SCALE), SCALE, cases(0, 9, 17), "exact")
    assert (verdict.status, verdict.effects) == ("ok", 2)
    wrong = build(relu.replace(": 0", ": 1"), SCALE)
    assert compare(build(relu, SCALE), wrong, SCALE, cases(9), "exact").status == "mismatch"


def test_results_that_are_never_finite_are_weak(build: Build) -> None:
    text = "void scale(int n, double *x) { for (int i = 0; i < n; i++) x[i] = (x[i] - x[i]) / 0.0; }"
    verdict = compare(build(text, SCALE), build(text, SCALE), SCALE, cases(5, 9), "exact")
    assert verdict.status == "weak"
    assert verdict.weak_cases == (0, 1)


def test_chaos_is_weak_and_not_a_mismatch(build: Build) -> None:
    """The logistic map loses one bit a step: two correct orders of evaluation differ wholly after 200."""
    loop = """
void scale(int n, double *x) {{
  for (int i = 0; i < n; i++) {{
    double v = x[i] * x[i] / (1 + x[i] * x[i]);
    for (int k = 0; k < 200; k++) v = {0};
    x[i] = v;
  }}
}}
"""
    left, right = loop.format("4 * v * (1 - v)"), loop.format("4 * v - 4 * v * v")
    verdict = compare(build(left, SCALE), build(right, SCALE), SCALE, cases(40), Tolerance())
    assert verdict.status == "weak"


def _spells(build: Build, name: str) -> bool:
    try:
        build(f"{name} copy({name} a) {{ return a; }}", Signature("copy", (Parameter("a", I32, "value"),), None))
    except PlanishError:
        return False
    return True


@pytest.mark.parametrize("type", ALL_TYPES, ids=str)
def test_every_type_travels(build: Build, type: Type) -> None:
    signature = Signature("copy", (Parameter("a", type, "value"), Parameter("x", type, "array")), type)
    name = c_name(type)
    if type in (F16, BF16) and not _spells(build, name):
        pytest.skip(f"this compiler has no {name}")
    right = build(f"{name} copy({name} a, {name} *x) {{ x[2] = a; return x[0]; }}", signature)
    wrong = build(f"{name} copy({name} a, {name} *x) {{ x[1] = a; return x[0]; }}", signature)
    several = [CallCase({}, {"x": 3}, seed=s) for s in range(6)]
    assert compare(right, right, signature, several).status == "ok"
    assert compare(right, wrong, signature, several).status == "mismatch"


def test_integer_ranges_bound_what_is_drawn(build: Build) -> None:
    signature = Signature("pick", (Parameter("b", U8, "array"), Parameter("h", I32, "array")), None)
    text = "void pick(unsigned char *b, int *h) { for (int i = 0; i < 50; i++) h[b[i]]++; }"
    library = build(text, signature)
    bounded = CallCase({}, {"b": 50, "h": 4}, ranges={"b": (0, 3)})
    assert compare(library, library, signature, [bounded]).status == "ok"
    free = CallCase({}, {"b": 50, "h": 4}, placement="end")
    assert compare(library, library, signature, [free]).status == "not comparable"


def test_single_precision_has_its_own_bound() -> None:
    assert Tolerance().bound(F32, 100) == pytest.approx(32 * 2**-23 * 10)
    assert Tolerance(length=4, growth="linear").bound(F64, 100) == pytest.approx(32 * 2**-52 * 4)
    assert Tolerance().bound(I32, 100) == 0


def test_a_survey_goes_on_behind_calls_that_fail_and_keeps_what_was_seen(build: Build) -> None:
    body = "for (;;) if (n % 10 == 3) __builtin_trap(); else if (n < 50 || n == 77) break; x[0] = n;"
    library = build(f"void scale(int n, double *x) {{ {body} }}", SCALE)
    calls = [CallCase({"n": n}, {"x": 1}, seed=n) for n in range(80)]
    seen = survey(library, SCALE, calls, 0.1, limits=Limits(seconds=60))
    # Those from 50 on do not end: after some of them, no others are tried.
    assert [number for number, _, _ in seen] == [n for n in range(50) if n % 10 != 3]
    assert all(effect for _, _, effect in seen)
