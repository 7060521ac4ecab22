"""What is a Fourier transform, beside the loops it was written as, and what only looks like one."""

from __future__ import annotations

import pytest
from tests.unit.raising.interpreted import assert_same, make_values

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.library.signal.stockham_fft import find_slack, transform_versions
from planish.raising.match.dft import find_transform
from planish.raising.match.transform_matrices import NoTransformError
from planish.schedule.auto.plan import Prepared, prepare
from planish.target.load import load_target

HEAD = "#include <math.h>\n#define N 12\n#define T 6.283185307179586476925\n"
SPLIT = "void dft(const double xr[N], const double xi[N], double yr[N], double yi[N])"
PAIRS = "void dft(const double x[2 * N], double y[2 * N])"
BODY = """{
  for (int k = 0; k < N; k++) {
    double re = 0, im = 0;
    for (int n = 0; n < N; n++) {
      const double a = T * k * n / N;
      re += xr[n] * cos(a) + xi[n] * sin(a);
      im += xi[n] * cos(a) - xr[n] * sin(a);
    }
    yr[k] = re;
    yi[k] = im;
  }
}"""
ONE = "void dct(const double x[N], double y[N])"
SUM = "{ for (int k = 0; k < N; k++) { double s = 0; for (int n = 0; n < N; n++) s += x[n] * W; y[k] = s; } }"
COSINE = "cos(T * (2 * n + 1) * k / (4 * N))"
NUMBERS = """{ double c, s, w; int k, n;
    for (k = 0; k < N; k++) {
      double re = 0, im = 0;
      w = T * k / N;
      for (n = 0; n < N; n++) {
        c = cos(w * n); s = sin(w * n);
        re = re + xr[n] * c + xi[n] * s;
        im = im - xr[n] * s + xi[n] * c;
      }
      yr[k] = re; yi[k] = im;
    } }"""
PLACES = """{ for (int k = 0; k < N; k++) for (int n = 0; n < N; n++) {
    yr[k + n] += xr[n] * cos(T * k * n / N) + xi[n] * sin(T * k * n / N);
    yi[k + n] += xi[n] * cos(T * k * n / N) - xr[n] * sin(T * k * n / N); } }"""

FORMS = {
    "parts apart": SPLIT + BODY,
    "pairs": PAIRS + BODY.replace("xr[n]", "x[2 * n]").replace("xi[n]", "x[2 * n + 1]")
    .replace("yr[k]", "y[2 * k]").replace("yi[k]", "y[2 * k + 1]"),
    "backwards, divided": SPLIT
    + BODY.replace("T * k", "-T * k").replace("= re", "= re / N").replace("= im", "= im / N"),
    "rows of pairs": "void dft(int b, const float x[b][N][2], float y[b][N][2]) { for (int i = 0; i < b; i++) {"
    + BODY.strip("{}").replace("xr[n]", "x[i][n][0]").replace("xi[n]", "x[i][n][1]")
    .replace("yr[k]", "y[i][k][0]").replace("yi[k]", "y[i][k][1]").replace("double re", "float re") + "} }",
    "real, sums in the output": "void dft(const float x[N], float yr[N], float yi[N]) {"
    "for (int k = 0; k < N; k++) { yr[k] = 0; yi[k] = 0; for (int n = 0; n < N; n++) {"
    "yr[k] += x[n] * cosf((float)(T / N) * (float)(k * n % N));"
    "yi[k] -= x[n] * sinf((float)(T / N) * (float)(k * n % N)); } } }",
    "added to what is there": SPLIT + "{ for (int k = 0; k < N; k++) for (int n = 0; n < N; n++) {"
    "yr[k] += xr[n] * cos(T * k * n / N) + xi[n] * sin(T * k * n / N);"
    "yi[k] += xi[n] * cos(T * k * n / N) - xr[n] * sin(T * k * n / N); } }",
    "power afterwards": "void dft(const float x[N], float p[N])"
    + BODY.replace("xr", "x").replace("+ xi[n] * sin(a)", "").replace("xi[n] * cos(a) -", "-")
    .replace("yr[k] = re;", "p[k] = (float)(re * re + im * im);").replace("yi[k] = im;", ""),
    "a term more afterwards": SPLIT + BODY.replace("yr[k] = re", "re += xr[k]; yr[k] = re"),
    "a cell that is only cleared": SPLIT.replace(")", ", double z[N])")
    + BODY.replace("double re", "z[k] = 0; double re"),
    "half of the results": SPLIT + BODY.replace("k < N", "k <= N / 2"),
    "all results but one": SPLIT + BODY.replace("k < N", "k < N - 1"),
    "the first cosines": ONE + SUM.replace("W", COSINE).replace("k < N", "k < 5"),
    "cosines back to some": ONE + SUM.replace("W", "cos(T / (4 * N) * (2 * k + 1) * n)").replace("k < N", "k < 7"),
    "pi of fifteen digits": SPLIT + BODY.replace("T * k", "2 * 3.14159265358979 * k"),
    "numbers in variables": SPLIT + NUMBERS,
    "a power in a sum": "void dft(const double xr[N], const double xi[N], double p[N])"
    + BODY.replace("re = 0", "re = 0, e = 0").replace("yr[k] = re", "e += re * re")
    .replace("yi[k] = im", "e += im * im; p[k] = e"),
    "sums of products that are rounded": "void dft(const float xr[N], const float xi[N], float yr[N], float yi[N])"
    + BODY.replace("double re", "float re").replace("xr[n] * cos(a)", "(float)(xr[n] * cos(a))"),
    "elements in another order": SPLIT
    + BODY.replace("xr[n]", "xr[(n * 5 + 3) % N]").replace("xi[n]", "xi[(n * 5 + 3) % N]"),
    "results from the last on": SPLIT + BODY.replace("yr[k]", "yr[N - 1 - k]").replace("yi[k]", "yi[N - 1 - k]"),
    "halves of the angle": SPLIT + BODY.replace("cos(a)", "(2 * cos(a / 2) * cos(a / 2) - 1)"),
    "a size that calls give": "void dft(int n, const double *xr, const double *xi, double *yr, double *yi)"
    + BODY.replace("int n", "int m").replace("[n]", "[m]").replace("* n", "* m").replace("n < N", "m < n")
    .replace("n++", "m++").replace("N", "n"),
    "cosines": ONE + SUM.replace("W", COSINE),
    "cosines, orthonormal": ONE
    + SUM.replace("W", COSINE).replace("= s", "= s * (k == 0 ? sqrt(1.0 / N) : sqrt(2.0 / N))"),
    "cosines back": ONE + SUM.replace("W", "(n == 0 ? 0.5 : 1.0) * cos(T / (4 * N) * (2 * k + 1) * n)"),
    "cosines of floats": ONE.replace("double", "float") + SUM.replace("W", COSINE),
    "two things": SPLIT.replace(")", ", double z[N])") + "{" + BODY.strip("{}")
    + SUM.strip("{}").replace("W", COSINE).replace("y[k]", "z[k]").replace("x[n]", "xi[n]") + "}",
}
"""Transforms of twelve elements, as they are written."""

OTHERS = {
    "numbers that are kept": SPLIT.replace(")", ", double z[N])") + NUMBERS.replace("w = T", "z[k] = w = T"),
    "a number of the iteration before": SPLIT + NUMBERS.replace("double c, s, w", "double c = 1, s = 0, w")
    .replace("c = cos(w * n); s = sin(w * n);", "").replace("im = im", "c = cos(w * (n + 1)); im = im"),
    "the last number": SPLIT + NUMBERS.replace("yr[k] = re", "yr[k] = re * c"),
    "a number after its use": SPLIT + NUMBERS.replace("w = T * k / N;", "").replace("yr[k]", "w = T * k / N; yr[k]"),
    "a cosine transform of two parts": SPLIT + BODY.replace("T * k * n / N", "T / 2 * k * (2 * n + 1) / N"),
    "sines": ONE + SUM.replace("W", "sin(T * (2 * n + 1) * k / (4 * N))"),
    "cosines of both middles": ONE + SUM.replace("W", "cos(T * (2 * n + 1) * (2 * k + 1) / (8 * N))"),
    "cosines, one off": ONE + SUM.replace("W", COSINE + " * (n == 3 && k == 2 ? 1.000001 : 1.0)"),
    "a matrix of nothing": ONE + SUM.replace("W", "0.0"),
    "a product of a matrix": ONE.replace("x[N]", "x[N], const double w[N][N]") + SUM.replace("W", "w[k][n]"),
    "a place that moves along": SPLIT.replace("yr[N]", "yr[2 * N]").replace("yi[N]", "yi[2 * N]") + PLACES,
    "rounded elements": SPLIT + BODY.replace("xr[n] * cos", "(double)(float)xr[n] * cos"),
    "a frequency that is a little off": SPLIT.replace("double", "float")
    + BODY.replace("double re", "float re").replace("T * k", "T * 1.0000002 * k"),
    "one sign": SPLIT + BODY.replace("- xr[n] * sin(a)", "+ xr[n] * sin(a)"),
    "angles with a step": SPLIT + BODY.replace("T * k * n / N", "T * (k + 1) * n / N"),
    "another period": SPLIT + BODY.replace("T * k * n / N", "T * k * n / (N + 1)"),
    "a weight that is off": SPLIT + BODY.replace("T * k * n / N", "T * k * n / N + (k == 7 && n == 5 ? 1e-9 : 0.0)"),
    "fewer terms": SPLIT + BODY.replace("n < N", "n < N - 1"),
    "few results": SPLIT + BODY.replace("k < N", "k < N / 4"),
    "more results": SPLIT + BODY.replace("k < N", "k < N + 1"),
    "sums that begin at one": SPLIT + BODY.replace("re = 0", "re = 1"),
    "a weight that the call gives": SPLIT.replace(")", ", double w)", 1) + BODY.replace("T *", "w *"),
    "in its place": "void dft(double yr[N], double yi[N])" + BODY.replace("xr", "yr").replace("xi", "yi"),
    "sums of sums": SPLIT + BODY.replace("im += xi[n]", "im += re * 0.0 + xi[n]"),
    "half of the old sum": SPLIT + BODY.replace("re += ", "re = 0.5 * re + "),
    "sums used inside": SPLIT + BODY.replace("im += xi", "yr[(k + 1) % N] = re; im += xi"),
    "one cell for all": SPLIT + BODY.replace("yr[k]", "yr[0]"),
    "cells that meet": PAIRS + BODY.replace("xr[n]", "x[2 * n]").replace("xi[n]", "x[2 * n + 1]")
    .replace("yr[k]", "y[k]").replace("yi[k]", "y[k + 1]"),
    "sums of other iterations": SPLIT
    + "{ double s[N];" + BODY.strip("{}").replace("yr[k] = re", "s[k] = re; yr[k] = s[k / 2]") + "}",
    "a product of elements": SPLIT + BODY.replace("xr[n] * cos(a)", "xr[n] * xr[n] * cos(a)"),
    "an element that moves": SPLIT + BODY.replace("xr[n] * cos(a)", "xr[(n + k) % N] * cos(a)"),
}
"""Loops that add up something else."""


def prepared(text: str) -> Prepared:
    (function,) = read_c(Source("dft.c", HEAD + text)).functions
    (region,) = function.regions
    return prepare(region.kernel)


@pytest.mark.each_value
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target", ["generic", "x86-avx512"])
def test_a_transform_in_passes_is_what_its_loops_are(form: str, target: str) -> None:
    found = prepared(FORMS[form])
    versions, (remark,) = transform_versions(found, load_target(target), "reassociate", {"n": 12})
    assert "of 12" in remark.message and len(versions) >= 2
    values = make_values(found.kernel, {x: 12 if x == "n" else 3 for x in found.kernel.sizes})
    for version in versions:
        assert_same(found.kernel, version.kernel, values)


@pytest.mark.parametrize("other", OTHERS)
def test_what_adds_up_something_else_is_no_transform(other: str) -> None:
    assert transform_versions(prepared(OTHERS[other]), load_target("generic"), "reassociate") == ((), ())


def test_sums_that_keep_their_order_are_no_transform() -> None:
    for fp in ("strict", "contract"):
        assert transform_versions(prepared(FORMS["parts apart"]), load_target("generic"), fp) == ((), ())


def test_a_size_that_calls_give_is_asked() -> None:
    found = prepared(FORMS["a size that calls give"])
    assert transform_versions(found, load_target("generic"), "reassociate") == ((), ())
    versions, _ = transform_versions(found, load_target("generic"), "reassociate", {"n": 20})
    assert [print_expr(x) for x in versions[0].kernel.assumptions][-1] == "n == 20"


def test_angles_that_are_rounded_are_spoken_of() -> None:
    rounded = FORMS["parts apart"].replace("double", "float").replace("T *", "(float)T *").replace("(a)", "f(a)")
    rounded = rounded.replace("cosf", "COS").replace("cos", "cosf").replace("sin", "sinf").replace("COS", "cosf")
    found = prepared(rounded.replace("sinff", "sinf").replace("cosff", "cosf"))
    assert {*find_slack(found, "reassociate")} == {"yr", "yi", "re", "im"}
    assert all(1e-6 < x < 1e-4 for x in find_slack(found, "reassociate").values())
    _, (remark,) = transform_versions(found, load_target("generic"), "reassociate")
    assert "its weights are exact" in remark.message
    assert max(find_slack(prepared(FORMS["parts apart"]), "reassociate").values()) < 1e-13
    assert not find_slack(found, "contract")
    assert not find_slack(prepared(OTHERS["one sign"]), "reassociate")


def test_a_name_for_a_number_is_not_left_without_it() -> None:
    angle = "w[k] * f64(i32(n))"
    sums = f"a[k] += x[n] * cos({angle}) b[k] += -(x[n] * sin({angle}))"
    kernel = parse_kernel(
        "kernel dft(x: f64[12], a: f64[12], b: f64[12], z: f64[12]) { alloc w: f64[12] for k in 0 .. 12 {"
        " w[k] = 0.5235987755982988 * f64(i32(k)) let y = w[k] * 2.0 a[k] = 0.0 b[k] = 0.0"
        f" for n in 0 .. 12 {{ {sums} }} z[k] = y * a[k] * a[k] }} }}"
    )
    with pytest.raises(NoTransformError, match="a number that it multiplies with is used elsewhere"):
        find_transform(kernel.body.body[1], frozenset({"w"}))
