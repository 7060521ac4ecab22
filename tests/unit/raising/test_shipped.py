"""The tactics that ship find operations in C that is written in other ways, and none where one thing is different."""

from __future__ import annotations

from functools import cache

import pytest
from tests.unit.raising.interpreted import assert_same, make_values

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.checker import check_kernel
from planish.ir.text.printer import print_expr
from planish.raising import nests
from planish.raising.expansion import expand
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Raised, walk_steps
from planish.raising.tdl.constants import specialise_all
from planish.raising.tdl.reader import load_tactics


@cache
def shipped() -> tuple[Operation, ...]:
    return tuple(x.operation for x in load_tactics())


def raise_c(text: str, least: int = 0) -> Raised:
    """A function as operations, which compute the same for sizes from `least` on."""
    (function,) = read_c(Source("t.c", "#include <math.h>\n" + text)).functions
    kernel = function.regions[0].kernel
    raised = nests.raise_kernel(kernel, specialise_all(shipped(), kernel))
    check_kernel(expand(raised), "expanded")
    for size in (least, least + 1, 3, 5):
        sizes = {x: size + 2 * n % 3 for n, x in enumerate(kernel.sizes)}
        assert_same(kernel, expand(raised), make_values(kernel, sizes, least=4000))
    return raised


def names(raised: Raised) -> list[str]:
    return [x.operation.name for x in walk_steps(raised.steps) if isinstance(x, Apply)]


FILTER = """void f(int n, int t, const float *x, const float *h, float *y) {
    for (int i = 0; i < n; i++) { float a = 0; for (int j = 0; j < t; j++) a += @; y[i] = a; } }"""


@pytest.mark.parametrize(
    "value",
    [
        "h[j] * x[i + j]",
        "x[j + 3 * i] * h[j]",
        "x[i + 2 * j] * h[j]",
        "h[j] * x[i + t - 1 - j]",
        "h[t - 1 - j] * x[i + j]",
        "h[j] * x[n - 1 - i + j]",
    ],
)
def test_a_window_that_moves_along_a_signal_is_no_matrix(value: str) -> None:
    found = names(raise_c(FILTER.replace("@", value)))
    assert "conv1d_signal" in found and "gemv" not in found


@pytest.mark.parametrize(
    "value", ["h[j] * x[j]", "h[j] * x[i]", "h[0] * x[i + j]", "h[i + j] * x[i + j]", "h[j] * x[i + j] * x[i]"]
)
def test_a_window_that_stays_is_no_convolution(value: str) -> None:
    assert "conv1d_signal" not in names(raise_c(FILTER.replace("@", value)))


def test_what_only_a_product_of_views_that_overlap_explains_is_one() -> None:
    assert "gemv" in names(raise_c(FILTER.replace("@", "2.0f * h[j] * x[i + j]")))


ONE_LAYER = """void f(int n, int c, double x[c][9][11], double k[n][c][3][2], double y[n][4][4]) {
    for (int o = 0; o < n; o++) for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) {
        double a = @; for (int q = 0; q < c; q++) for (int r = 0; r < 3; r++) for (int s = 0; s < 2; s++)
            a += x[q][#] * k[o][q][r][s];
        y[o][i][j] = a; } }"""


@pytest.mark.parametrize(
    ("begin", "place", "found"),
    [
        ("0", "i + r][j + s", ["convolution"]),
        ("y[o][i][j]", "2 * i + r][j + 2 * s", ["convolution"]),
        ("0", "r + i + 1][3 + s + j", ["convolution"]),
        # The window is turned over, or lies along the diagonal.
        ("0", "i + 2 - r][j + s", []),
        ("0", "i + r][j + r", []),
    ],
)
def test_a_convolution_of_one_image_needs_no_name(begin: str, place: str, found: list[str]) -> None:
    raised = names(raise_c(ONE_LAYER.replace("@", begin).replace("#", place)))
    assert [x for x in raised if x == "convolution"] == found


IMAGE = """void f(int h, int w, double x[16][16], double k[3][3], double y[16][16]) {
    for (int i = 0; i < h; i++) for (int j = 0; j < w; j++)
        for (int r = 0; r < 3; r++) for (int s = 0; s < 3; s++) y[i][j] += x[@] * k[#]; }"""


@pytest.mark.parametrize(
    ("image", "window", "found"),
    [
        ("i + r][j + s", "r][s", True),
        ("i + r][j + s", "2 - r][2 - s", True),
        ("i + 2 - r][j + s", "r][s", True),
        ("i + r][j + s", "s][r", True),
        ("i + r][j + s", "r][r", False),
        ("i + r][j + r", "r][s", False),
        ("i + s][i + r", "r][s", False),
    ],
)
def test_a_window_over_an_image(image: str, window: str, found: bool) -> None:
    assert ("conv2d_image" in names(raise_c(IMAGE.replace("@", image).replace("#", window)))) == found


POOL = """void f(int h, int w, double in[32][32], double out[16][16]) {
    for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) {
        double m = in[2 * y][2 * x];
        for (int r = 0; r < 2; r++) for (int s = 0; s < 2; s++) m = @;
        out[y][x] = m; } }"""


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("in[2 * y + r][2 * x + s] > m ? in[2 * y + r][2 * x + s] : m", True),
        ("fmax(m, in[2 * y + 1 - r][2 * x + s])", True),
        ("fmin(m, in[2 * y + r][2 * x + s])", False),
        ("fmax(m, in[2 * y + r][2 * x + r])", False),
        ("fmax(m, in[2 * y + r][2 * y + s])", False),
        ("fmax(m, -in[2 * y + r][2 * x + s])", False),
    ],
)
def test_pooling_of_one_image(value: str, found: bool) -> None:
    assert ("pool_max_image" in names(raise_c(POOL.replace("@", value)))) == found


LAYER = """void f(int n, int c, int h, int w, const float *b, float *x) {
    for (int t = 0; t < n * c * h * w; t++) { float v = @; x[t] = #; } }"""


@pytest.mark.parametrize(
    ("sum", "value", "found"),
    [
        ("x[t] + b[t / (h * w) % c]", "v > 0 ? v : 0", "bias_relu_channels"),
        ("b[t / (h * w) % c] + x[t]", "0 > v ? 0 : v", "bias_relu_channels"),
        ("x[t] + b[t / (h * w) % c]", "tanhf(v)", "bias_tanh_channels"),
        ("b[t / (h * w) % c] + b[t / (h * w) % c]", "tanhf(v)", ""),
        ("x[t] + b[t / (h * w) % c]", "v < 0 ? v : 0", ""),
        ("x[t] - b[t / (h * w) % c]", "v > 0 ? v : 0", ""),
        ("x[t] + b[t / (h * w) % c]", "v > 1 ? v : 1", ""),
    ],
)
def test_a_bias_for_each_channel(sum: str, value: str, found: str) -> None:
    text = LAYER.replace("@", sum).replace("#", value)
    assert [x for x in names(raise_c(text, 1)) if x.startswith("bias")] == [found] * bool(found)


SOLVE = """void f(int n, float A[n][n], const float *restrict b, float *restrict x) {
    for (int i = 0; i < n; i++) { float w = @; for (int j = 0; j < i; j++) w #; x[i] = %; } }"""
BACK = """void f(int n, double U[n][n], double *x) {
    for (int i = n - 1; i >= 0; i--) { double w = x[i]; for (int j = i + 1; j < n; j++) w -= @; x[i] = w / #; } }"""


@pytest.mark.parametrize(
    ("begin", "change", "end", "found"),
    [
        ("b[i]", "-= A[i][j] * x[j]", "w", "trsv_lower_plain_unit"),
        ("b[i]", "-= x[j] * A[j][i]", "w / A[i][i]", "trsv_lower_plain_nonunit"),
        ("0", "+= A[i][j] * x[j]", "(b[i] - w) / A[i][i]", "trsv_lower_plain_nonunit"),
        ("0", "-= A[i][j] * x[j]", "b[i] + w", "trsv_lower_plain_unit"),
        ("0", "+= A[i][j] * x[j]", "(b[i] + w) / A[i][i]", ""),
        ("0", "+= A[i][j] * x[j]", "b[i] - w / A[i][i]", ""),
        ("1", "+= A[i][j] * x[j]", "(b[i] - w) * A[i][i]", ""),
        ("b[i]", "-= A[i][j] * b[j]", "w", ""),
        ("b[i]", "-= A[i][j] * x[j] * x[j]", "w", ""),
        ("b[i]", "-= A[i][j] * x[j]", "w / A[0][i]", ""),
    ],
)
def test_a_solve_that_adds_up_in_a_scalar(begin: str, change: str, end: str, found: str) -> None:
    raised = raise_c(SOLVE.replace("@", begin).replace("#", change).replace("%", end))
    assert [x for x in names(raised) if x.startswith("trsv")] == [found] * bool(found)


@pytest.mark.parametrize(
    ("value", "divisor", "found"),
    [
        ("U[i][j] * x[j]", "U[i][i]", True),
        ("U[i][j] * x[j]", "U[n - 1 - i][i]", False),
        ("U[i][j] * x[i]", "U[i][i]", False),
    ],
)
def test_a_solve_from_the_last_row_on(value: str, divisor: str, found: bool) -> None:
    assert any(x.startswith("trsv") for x in names(raise_c(BACK.replace("@", value).replace("#", divisor)))) == found


COLUMNS = """void f(int n, double L[n][n], double *x) {
    for (int j = 0; j < n; j++) { double t = @; x[j] = t; for (int i = j + 1; i < n; i++) x[i] -= t * #; } }"""


@pytest.mark.parametrize(
    ("value", "factor", "found"),
    [
        ("x[j] / L[j][j]", "L[i][j]", "trsv_lower_plain_nonunit"),
        ("x[j]", "L[j][i]", "trsv_lower_plain_unit"),
        ("x[j] * L[j][j]", "L[i][j]", ""),
        ("x[0] / L[j][j]", "L[i][j]", ""),
        ("x[j] / L[j][j]", "L[j][j]", ""),
    ],
)
def test_a_solve_by_columns_with_a_scalar(value: str, factor: str, found: str) -> None:
    raised = raise_c(COLUMNS.replace("@", value).replace("#", factor))
    assert [x for x in names(raised) if x.startswith("trsv")] == [found] * bool(found)


FACTOR = """void f(int n, double A[40][40]) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            double t = @; for (int k = 0; k < j; k++) t #; A[i][j] = (%) / A[j][j]; }
        double d = 0; for (int k = 0; k < i; k++) d += A[i][k] * A[i][k];
        A[i][i] = sqrt(A[i][i] - d); } }"""


@pytest.mark.parametrize(
    ("begin", "change", "end", "found"),
    [
        ("A[i][j]", "-= A[i][k] * A[j][k]", "t", True),
        ("0", "+= A[j][k] * A[i][k]", "A[i][j] - t", True),
        ("0", "+= A[j][k] * A[i][k]", "A[i][j] + t", False),
        ("0", "+= A[j][k] * A[i][k]", "A[j][i] - t", False),
        ("A[i][j]", "-= A[i][k] * A[k][j]", "t", False),
    ],
)
def test_a_factorisation_that_adds_up_in_scalars(begin: str, change: str, end: str, found: bool) -> None:
    raised = raise_c(FACTOR.replace("@", begin).replace("#", change).replace("%", end))
    assert ("cholesky" in names(raised)) == found


SOFTMAX = """void f(int m, int n, float x[16][16], float y[16][16]) {
    for (int i = 0; i < m; i++) {
        float top = x[i][0], sum = 0;
        for (int j = 1; j < n; j++) { @ }
        for (int j = 0; j < n; j++) y[i][j] = expf(#);
        for (int j = 0; j < n; j++) sum += y[i][j];
        for (int j = %; j < n; j++) y[i][j] /= sum; } }"""


@pytest.mark.parametrize(
    ("most", "power", "begin", "found"),
    [
        ("top = x[i][j] > top ? x[i][j] : top;", "x[i][j] - top", "0", True),
        ("if (x[i][j] > top) top = x[i][j];", "x[i][j] - top", "0", True),
        ("top = fmaxf(x[i][j], top);", "x[i][j] - top", "0", True),
        ("top = fminf(x[i][j], top);", "x[i][j] - top", "0", False),
        ("top = fmaxf(x[i][j], top);", "x[i][j] + top", "0", False),
        ("top = fmaxf(x[i][j], top);", "x[j][i] - top", "0", False),
        ("top = fmaxf(x[i][j], top);", "x[i][j] - top", "1", False),
    ],
)
def test_softmax_as_it_is_written_in_c(most: str, power: str, begin: str, found: bool) -> None:
    raised = raise_c(SOFTMAX.replace("@", most).replace("#", power).replace("%", begin), 1)
    assert ("softmax" in names(raised)) == found
    if found:
        (step,) = raised.steps
        assert isinstance(step, Apply) and [print_expr(x) for x in step.conditions] == ["n >= 1"]


def test_softmax_with_each_power_in_a_scalar() -> None:
    text = """void f(int m, int n, double x[9][9], double y[9][9]) {
        for (int i = 0; i < m; i++) {
            double top = x[i][0], sum = 0;
            for (int j = 1; j < n; j++) top = fmax(top, x[i][j]);
            for (int j = 0; j < n; j++) { double e = exp(x[i][j] - top); sum += @; y[i][j] = e; }
            for (int j = 0; j < n; j++) y[i][j] /= sum; } }"""
    assert names(raise_c(text.replace("@", "e"), 1)) == ["softmax"]
    assert "softmax" not in names(raise_c(text.replace("@", "e * e"), 1))


def test_a_condition_that_changes_from_one_iteration_to_the_next_is_no_condition() -> None:
    text = """void f(int m, int l, float x[16][16], float y[16][16]) {
        for (int i = 0; i < m; i++) {
            float top = x[i][0], sum = 0;
            for (int j = 1; j < @; j++) top = fmaxf(top, x[i][j]);
            for (int j = 0; j < @; j++) { y[i][j] = expf(x[i][j] - top); sum += y[i][j]; }
            for (int j = 0; j < @; j++) y[i][j] /= sum; } }"""
    assert "softmax" not in names(raise_c(text.replace("@", "i + l"), 1))


ROWS = """enum { LD = 64 };
void f(int n, int m, const float *a, const float *b, float *c) {
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < m; k++) c[@] += a[#] * b[%]; }"""


@pytest.mark.parametrize(
    ("output", "left", "right", "found"),
    [
        ("i * LD + j", "i * LD + k", "k * LD + j", True),
        ("LD * j + i", "LD * k + i", "j + k * LD", True),
        ("i * LD + j", "(n - 1 - i) * 32 + k", "k * 128 + j + 1", True),
        ("i * LD + j", "i * LD + i", "k * LD + j", False),
        ("i * LD + j", "i * LD + k", "k * LD + k", False),
        ("i * LD + k", "i * LD + k", "k * LD + j", False),
        ("i * LD + j", "(i + j) * LD + k", "k * LD + j", False),
    ],
)
def test_a_product_in_rows_whose_length_is_a_number(output: str, left: str, right: str, found: bool) -> None:
    raised = raise_c(ROWS.replace("@", output).replace("#", left).replace("%", right))
    assert ("gemm" in names(raised)) == found


STEPS = """void f(int n, float A[40][40]) {
    for (int k = 0; k < n; k++) {
        for (int i = n - 1; i > k; i--) {
            float m = A[i][k] / A[k][k];
            A[i][k] = m;
            for (int j = @; j < n; j++) A[i][j] -= #; } } }"""


@pytest.mark.parametrize(
    ("begin", "value", "found"),
    [("k + 1", "m * A[k][j]", True), ("k", "m * A[k][j]", False), ("k + 1", "m * A[j][k]", False)],
)
def test_a_factorisation_step_by_step(begin: str, value: str, found: bool) -> None:
    assert ("lu_steps" in names(raise_c(STEPS.replace("@", begin).replace("#", value)))) == found


OUTER = """void f(int n, double A[40][40]) {
    for (int k = 0; k < n; k++) {
        double d = sqrt(A[k][k]); A[k][k] = d;
        for (int i = k + 1; i < n; i++) A[i][k] /= d;
        for (int i = k + 1; i < n; i++) {
            double m = A[i][k];
            for (int j = k + 1; j < #; j++) A[i][j] -= @ * A[j][k]; } } }"""


@pytest.mark.parametrize(
    ("factor", "end", "found"),
    [
        ("A[i][k]", "i + 1", True), ("m", "i + 1", True),
        ("A[i][k]", "n", False), ("A[i][k]", "i", False), ("A[k][i]", "i + 1", False),
    ],  # fmt: skip
)
def test_cholesky_step_by_step(factor: str, end: str, found: bool) -> None:
    assert ("cholesky_steps" in names(raise_c(OUTER.replace("@", factor).replace("#", end)))) == found


BY_COLUMNS = """void f(int n, double A[40][40]) {
    for (int j = 0; j < n; j++) {
        double d = A[j][j]; for (int k = 0; k < j; k++) d -= A[j][k] * A[j][k];
        d = sqrt(@); A[j][j] = d;
        for (int i = j + 1; i < n; i++) {
            double s = A[i][j]; for (int k = 0; k < j; k++) s -= A[i][k] * A[#][k]; A[i][j] = s / %; } } }"""


@pytest.mark.parametrize(
    ("root", "row", "divisor", "found"),
    [
        ("d", "j", "d", True),
        ("d", "j", "A[j][j]", True),
        ("d", "j", "(d + d)", False),
        ("d", "i", "d", False),
        ("d + d", "j", "d", False),
    ],
)
def test_a_factorisation_by_columns(root: str, row: str, divisor: str, found: bool) -> None:
    raised = raise_c(BY_COLUMNS.replace("@", root).replace("#", row).replace("%", divisor))
    assert ("cholesky" in names(raised)) == found


UPDATE = """void f(int n, int m, double a, double s, double *v, double A[16][16], double B[16][16], double C[16][16]) {
    for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) {
        double t = 0; for (int k = 0; k < m; k++) t += A[i][k] * A[j][k];
        C[i][j] = @; } }"""


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("s * C[i][j] + a * t", ["scal_matrix_lower", "syrk_lower_plain"]),
        ("a * t - C[i][j]", ["scal_matrix_lower", "syrk_lower_plain"]),
        ("a * t + C[i][j] * v[0]", ["scal_matrix_lower", "syrk_lower_plain"]),
        ("C[i][j] + a * t", ["syrk_lower_plain"]),
        ("s * (C[i][j] + t)", []),  # first added, then scaled
        ("s * C[j][i] + a * t", []),
        ("s * B[i][j] + a * t", []),
        ("v[i] * C[i][j] + a * t", []),
        ("s * C[i][j] * C[i][j] + a * t", []),
        ("C[i][j] * t + s", []),
    ],
)
def test_what_is_scaled_before_something_is_added(value: str, found: list[str]) -> None:
    steps = [x for x in walk_steps(raise_c(UPDATE.replace("@", value)).steps) if isinstance(x, Apply)]
    stored = [x.operation.name for x in steps if x.operands[x.operation.output].array == "C"]
    assert [x for x in stored if x.startswith(("scal", "syr"))] == found


SYMM = """void f(int m, int n, float a, float s, float A[16][16], float B[16][16], float C[16][16]) {
    for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) {
        float t = 0;
        for (int k = 0; k < i; k++) { C[k][j] += a * A[#] * B[i][j]; t += B[k][j] * A[i][k]; }
        C[i][j] = s * C[i][j] + a * (B[i][j] * A[i][i] + t) @; } }"""


@pytest.mark.parametrize(
    ("other", "more", "found"), [("i][k", "", True), ("i][k", "- a * C[0][0]", False), ("k][i", "", False)]
)
def test_a_symmetric_product_in_one_pass(other: str, more: str, found: bool) -> None:
    raised = raise_c(SYMM.replace("#", other).replace("@", more))
    assert (names(raised) == ["scal_matrix_whole", "symm_left_lower"]) == found


SCAN = """void f(int n, const float *x, float *y) {
    float s = @; for (int i = 0; i < n; i++) { # } y[n] = s; }"""


@pytest.mark.parametrize(
    ("begin", "body", "found"),
    [
        ("0", "s += x[i]; y[i] = s;", "prefix_sum_running_inclusive"),
        ("x[3]", "s = x[n - 1 - i] + s; y[2 * i] = s;", "prefix_sum_running_inclusive"),
        ("0", "y[i] = s; s += x[i];", "prefix_sum_running_exclusive"),
        ("0", "s += x[i]; y[i] = s + x[i];", ""),
        ("0", "s += x[i]; y[n - 1 - i] = s * s;", ""),
        ("0", "s = x[i] - s; y[i] = s;", ""),
        ("0", "s += x[i] * x[i]; y[i] = s;", ""),
        ("0", "if (x[i] > s) s = x[i]; y[i] = s;", ""),
    ],
)
def test_sums_that_run_on_in_a_scalar(begin: str, body: str, found: str) -> None:
    raised = raise_c(SCAN.replace("@", begin).replace("#", body))
    assert [x for x in names(raised) if x.startswith("prefix")] == [found] * bool(found)


def test_sums_that_run_on_in_each_row() -> None:
    text = """void f(int m, int n, double A[16][16], double B[16][16]) {
        for (int i = 0; i < m; i++) {
            double s = 0; for (int j = 0; j < n; j++) { B[i][j] = s; s += A[j][i]; } } }"""
    assert "prefix_sum_running_exclusive" in names(raise_c(text))
