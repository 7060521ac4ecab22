"""The calls that check and time a function fit its arrays, reach its corners, and fill its caches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from planish.build.lower import known_arguments, lower_region
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFunction
from planish.ir.types import F64, I32
from planish.options import Options
from planish.run.calls.loaded_library import draw
from planish.run.calls.passing import signature_of, why_not
from planish.run.calls.signature import CallCase, Parameter
from planish.run.sizes.call_sizes import CHECK_BYTES, LOOSE_SIZES, bytes_of, check_cases, make_case, wanted_sizes
from planish.run.sizes.derived_sizes import derived_cases, derived_clocks
from planish.run.sizes.known_sizes import KnownSizes
from planish.run.sizes.workloads import CLOCK_ATTEMPTS, CLOCK_BYTES, clock_cases, probe_cases, require_sizes
from planish.target.load import load_target
from planish.target.machine import CacheLevel

MASK = (
    "void f(int n, unsigned char *m, unsigned char index)"
    " { for (int i = 0; i < n; i++) if (m[i] == index) m[i] = 0; }"
)
SCALE = "void scale(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 2; }"
MATRIX = (
    "void fill(int n, int m, double a[40][50])"
    " { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = 1; }"
)
HALVES = "void halves(int n, double *x) { int half = n / 2; for (int i = 0; i < half; i++) x[i] += x[i + half]; }"
CALLED = HALVES.replace("n / 2", "half_of(n)")
FILTER = """
void filter(int n, int taps, float *x, float *h, float *y)
{
    int steps = n - taps + 1;
    for (int i = 0; i < steps; i++) {
        y[i] = 0;
        for (int k = 0; k < taps; k++)
            y[i] += x[i + k] * h[k];
    }
}
"""
LARGE = "void large(int n, float *x, float *y) { for (int i = 0; i < n; i++) y[i] = x[i]; }"


def known_of(text: str) -> tuple[CFunction, tuple[KnownSizes, ...]]:
    file = read_c(Source("case.c", text))
    (function,) = file.functions
    target = load_target("generic")
    plans = [lower_region(r, Options(), target) for r in function.regions]
    return function, tuple(known_arguments(p, function, text) for p in plans if p.prepared is not None)


def test_the_signature_names_values_and_arrays() -> None:
    signature = signature_of(known_of(SCALE)[0])
    assert signature is not None
    assert signature.parameters == (Parameter("n", I32, "value"), Parameter("x", F64, "array"))
    assert signature.result is None


def test_a_function_whose_parameters_are_not_known_has_no_signature() -> None:
    text = "void f(n, by, x) int n; float by; double *x; { for (int i = 0; i < n; i++) x[i] = by; }"
    function = known_of(text)[0]
    assert signature_of(function) is None and "before 1989" in why_not(function)


def test_an_old_definition_whose_parameters_are_passed_as_they_are_has_a_signature() -> None:
    text = "void f(x, n) double *x; { for (int i = 0; i < n; i++) x[i] = 0; }"
    signature = signature_of(known_of(text)[0])
    assert signature is not None
    assert signature.parameters == (Parameter("x", F64, "array"), Parameter("n", I32, "value"))


def test_sizes_lie_apart_once_that_matters() -> None:
    assert wanted_sizes(("a", "b"), 2) == {"a": 2, "b": 2}
    assert len(set(wanted_sizes(("a", "b", "c"), 8).values())) == 3


def test_a_large_function_without_sizes_is_called_all_the_same() -> None:
    text = "void f(double a[300][300]) { for (int k = 0; k < K; k++) for (int i = 0; i < 300; i++)"
    text += " for (int j = 0; j < 300; j++) a[i][j] += k; }"
    assert len(check_cases(*known_of(text.replace("K", "300")), {})) == 1
    assert not check_cases(*known_of(text.replace("K", "6000")), {})


def test_empty_single_odd_and_large_calls_are_made() -> None:
    cases = check_cases(*known_of(SCALE), {})
    values = [c.values["n"] for c in cases]
    assert {0, 1, 17, 33} <= set(values)
    assert max(values) > 500
    assert {c.placement for c in cases} == {"end", "start"}
    assert all(c.elements["x"] == c.values["n"] for c in cases)


def test_what_a_function_asserts_to_be_equal_is() -> None:
    loop = "for (int i = 0; i < n; i++) a[i]++;"
    text = f"void f(int n, int m, int k, int *a) {{ assert(2 * n + 1 == m && k == m / 3); {loop} }}"
    values = [c.values for c in check_cases(*known_of(f"#include <assert.h>\n{text}"), {})]
    assert all(x["m"] == 2 * x["n"] + 1 and x["k"] == x["m"] // 3 for x in values) and len(values) > 9


def test_declared_extents_bound_the_sizes() -> None:
    cases = check_cases(*known_of(MATRIX), {})
    assert all(0 <= c.values["n"] <= 40 and 0 <= c.values["m"] <= 50 for c in cases)
    assert any(c.values["n"] == 40 and c.values["m"] == 50 for c in cases)


def test_a_given_size_is_checked_besides() -> None:
    cases = check_cases(*known_of(SCALE), {"n": 777})
    assert cases[-1].values["n"] == 777


def test_sizes_that_come_from_a_call_are_reached_through_the_parameter() -> None:
    cases = check_cases(*known_of(CALLED), {})
    assert [c.values.get("n") for c in cases] == list(LOOSE_SIZES)
    assert all(c.elements["x"] >= c.values["n"] for c in cases)


@pytest.mark.parametrize("text", [HALVES, HALVES.replace("int half = n / 2", "const unsigned half = n >> 1")])
def test_sizes_that_the_function_computes_are_known(text: str) -> None:
    (known,) = known_of(text)[1]
    assert known.computed.keys() == {"half"} and known.alone
    cases = check_cases(*known_of(text), {})
    assert {0, 1, 3, 17, 130} <= {c.values["n"] for c in cases}
    assert all(c.elements["x"] == c.values["n"] // 2 * 2 for c in cases)


@pytest.mark.parametrize(
    "text",
    [
        HALVES.replace("int half", "static int half"),
        HALVES.replace("for", "if (half > 5) half = 5; for", 1),
        HALVES.replace("int half", "n = n + 1; int half"),
        HALVES.replace("n / 2;", "x[0];"),
        HALVES.replace("for", "use(&half); for", 1),
    ],
)
def test_what_may_be_something_else_is_not_taken_for_computed(text: str) -> None:
    assert not any(x.computed for x in known_of(text)[1])


def test_windows_are_timed_small() -> None:
    function, known = known_of(FILTER)
    case = clock_cases(function, known, {})[0]
    assert case.values["taps"] == 63 < case.values["n"] // 100
    assert case.elements == {"x": case.values["n"], "h": 63, "y": case.values["n"] - 62}
    (given,) = {c.values["taps"] for c in clock_cases(function, known, {"taps": 500})}
    assert given == 500


@pytest.mark.parametrize("text", [SCALE, MATRIX, LARGE])
def test_the_timed_call_is_large_but_fits(text: str) -> None:
    function, known = known_of(text)
    case, *others = clock_cases(function, known, {})
    assert 0 < len(others) < CLOCK_ATTEMPTS
    signature = signature_of(function)
    assert signature is not None
    total = sum(case.elements[p.name] * p.type.size for p in signature.arrays)
    assert total <= CLOCK_BYTES
    assert total >= min(40 * 50 * 8, CLOCK_BYTES // 16)


def test_where_the_largest_calls_fail_much_smaller_ones_are_tried() -> None:
    text = "void f(int n, int m, double *x) { for (int k = 0; k < m; k++) { double *y = x + n * (k % 3);"
    text += " for (int i = 0; i < n; i++) y[i] = 2; } }"
    largest = [max(x.values.values()) for x in clock_cases(*known_of(text), {})]
    assert len(largest) == CLOCK_ATTEMPTS
    assert all(4 * b <= a for a, b in zip(largest[3:], largest[4:], strict=False))


def test_a_given_size_is_the_timed_one() -> None:
    (case,) = clock_cases(*known_of(SCALE), {"n": 123})
    assert case.values["n"] == 123


def test_arrays_that_no_region_knows_get_a_generous_guess() -> None:
    function, known = known_of(CALLED)
    case = make_case(function, known, {}, 0, {"n": 100})
    assert case.values == {"n": 100}
    assert case.elements["x"] >= 400
    loose = make_case(function, known, {}, 0)
    assert loose.ranges == {"n": (1, 7)} and loose.elements["x"] >= 7


SOLVE = """
void solve(int n, int lda, const double *a, double *x)
{
    for (int j = 0; j < n; j++) {
        x[j] /= a[j * lda + j];
        for (int i = j + 1; i < n; i++)
            x[i] -= a[j * lda + i] * x[j];
    }
}
"""


def test_transforms_of_one_length_get_as_much() -> None:
    """A length that is a number in the text is seen in the bounds of loops; a mask or a factor is no length."""
    reversal = "for (i = 0, j = 0; i < 4095; i++) { if (i < j) { float t = x[i]; x[i] = x[j]; x[j] = t; }"
    reversal += " for (k = 2048; k <= j; k /= 2) j -= k; j += k; }"
    stage = "for (int h = 1; h < 8192; h *= 2) for (int i = 0; i < 8192; i += 2 * h) for (int j = i; j < i + h; j++) {"
    stage += " y[j] += 1000003 * (y[j + h] & 0xffffff); y[j + h] = 0; }"
    function, known = known_of(f"void once(float *x, int *y) {{ int i, j, k; {reversal} {stage} }}")
    case, *_ = check_cases(function, known, {})
    assert 8192 <= case.elements["y"] <= 8 * 8192 and 4096 <= case.elements["x"] <= 8 * 8192
    (given,) = clock_cases(function, known, {"n": 1000, "m": 1000})
    assert given.elements["y"] <= 8 * 8192
    small, of_small = known_of(f"void once(int *y) {{ {stage.replace('8192', '64')} }}")
    case, *_ = check_cases(small, of_small, {})
    assert case.elements["y"] < 2048


def test_a_matrix_without_a_shape_can_be_factorised() -> None:
    function, known = known_of(SOLVE)
    case = make_case(function, known, {"n": 20, "lda": 23}, seed=1)
    assert case.elements["a"] == 19 * 23 + 20 and case.rows == {"a": 23}
    signature = signature_of(function)
    assert signature is not None
    values = draw(signature, case, "uniform").arrays["a"]
    assert (values[:: 23 + 1] > 20).all() and np.median(values) < 2
    function, known = known_of(SOLVE.replace("/= a[j * lda + j]", "*= 2"))
    assert make_case(function, known, {"n": 20, "lda": 23}, seed=1).rows == {}


SATURATE = """
void saturate(int n, const int *a, int *b)
{
    for (int i = 0; i < n; i++) {
        long v = (long)a[i] << 3;
        b[i] = v > 2147483647 ? 2147483647 : (int)v;
    }
}
"""


def test_integers_that_cannot_overflow_are_of_the_whole_range_at_times() -> None:
    function, known = known_of(SATURATE)
    wide = [x.ranges for x in check_cases(function, known, {}) if x.ranges]
    assert wide and all(x == {"a": (-(2**31), 2**31 - 1), "b": (-(2**31), 2**31 - 1)} for x in wide)
    function, known = known_of(SATURATE.replace("(long)a[i] << 3", "a[i] * 8"))
    assert not [x for x in check_cases(function, known, {}) if x.ranges]


CHANNEL = """
void channel(int height, int width, int channels, int which, const float *image, float *plane)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            plane[y * width + x] = 0.5f * image[(y * width + x) * channels + which];
}
"""
AXPY = """
void axpy(int n, double a, const double *x, int incx, double *y, int incy)
{
    for (int i = 0; i < n; i++)
        y[i * incy] += a * x[i * incx];
}
"""
PADDED = """
void copy(int h, int w, int from, int to, int pad, const float *a, float *b)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            b[(y + pad) * to + x + pad] = a[y * from + x];
}
"""
CACHES = (CacheLevel(1, 32 << 10), CacheLevel(2, 1 << 20), CacheLevel(3, 32 << 20, shared=16))


@pytest.mark.parametrize(
    ("text", "small", "equal"),
    [(CHANNEL, {"channels": 4, "which": 1}, ()), (AXPY, {"incx": 4, "incy": 4}, ()),
     (PADDED, {"pad": 1}, (("w", "from"),))],
)  # fmt: skip
def test_strides_pads_and_channels_are_timed_as_in_real_calls(
    text: str, small: dict[str, int], equal: tuple[tuple[str, str], ...]
) -> None:
    function, known = known_of(text)
    cases = [clock_cases(function, known, {})[0], *probe_cases(function, known, {}, CACHES)]
    assert len(cases) == 4
    for case in cases:
        assert all(case.values[x] <= y for x, y in small.items()), case.values
        assert all(case.values[x] == case.values[y] for x, y in equal)
    works = [max(x.elements.values()) for x in cases]
    assert works[0] > works[3] > works[2] > works[1]


def test_calls_of_the_file_tell_sizes() -> None:
    main = "enum { SIDE = 700 };\n#define CHANNELS 4\nint main(void) { channel(SIDE, 640, CHANNELS, 2, a, b); }"
    source = Source("channel.c", CHANNEL + "static float a[1792000], b[448000];\n" + main)
    function, known = known_of(CHANNEL)
    wanted = {"height": 700, "width": 640, "channels": 4, "which": 2}
    assert clock_cases(function, known, {}, source)[0].values == wanted
    little = Source("channel.c", CHANNEL + main.replace("SIDE,", "3,").replace("640", "5"))
    first = clock_cases(function, known, {}, little)[0].values
    assert first["channels"] == 4 and first["height"] > 1000
    assert {"height": 3, "width": 5, "channels": 4, "which": 2} in [
        x.values for x in probe_cases(function, known, {}, CACHES, little)
    ]


@pytest.mark.parametrize("given", [{"n": 2000, "m": 2000}, {"n": 41}])
def test_sizes_that_cannot_be_are_an_error(given: dict[str, int]) -> None:
    function, known = known_of(MATRIX)
    with pytest.raises(PlanishError) as caught:
        require_sizes(function, known, given, None)
    assert caught.value.diagnostic.code == "E0110" and "n=40" in caught.value.diagnostic.help


@pytest.mark.parametrize("given", [{"n": 40}, {"n": 3, "m": 50}, {"other": 7}, {}])
def test_sizes_that_can_be_are_none(given: dict[str, int]) -> None:
    require_sizes(*known_of(MATRIX), given, None)


def test_a_statement_that_does_not_run_for_the_sizes_is_no_error() -> None:
    loops = "for (int i = 0; i < n; i++) a[i] = 1; for (int i = 100; i < n; i++) a[i] = 2;"
    text = f"void fill(int n, double *a) {{ {loops} }}"
    require_sizes(*known_of(text), {"n": 50}, None)


def test_strides_channels_and_offsets_are_checked_small_as_well() -> None:
    values = [x.values for x in check_cases(*known_of(AXPY), {})]
    assert {(x["incx"], x["incy"]) for x in values if x["n"] > 30} >= {(1, 1), (2, 2), (3, 3)}
    values = [x.values for x in check_cases(*known_of(CHANNEL), {})]
    assert {(x["channels"], x["which"]) for x in values if x["width"] > 30} >= {(1, 0), (2, 1), (3, 2)}


def test_checks_of_large_strides_need_little_memory() -> None:
    function, known = known_of(CHANNEL)
    cases = check_cases(function, known, {})
    assert max(bytes_of(function, x) for x in cases) <= CHECK_BYTES
    assert max(x.values["width"] for x in cases) >= 259


def test_a_function_of_which_one_call_is_long_gets_its_smallest_calls() -> None:
    loops = "for (int t = 0; t < m; t++) for (int i = 0; i < 300; i++) for (int j = 0; j < 300; j++)"
    text = f"void f(int m, const int *x, int *y) {{ {loops} for (int k = 0; k < 300; k++) y[t * 300 + j] += x[k]; }}"
    function, known = known_of(text)
    cases = check_cases(function, known, {})
    assert {1, 2, 3} <= {x.values["m"] for x in cases} <= {-3, 0, 1, 2, 3}


@pytest.mark.parametrize(("seed", "least", "most"), [(1, 0.3, 0.6), (2, 0.0, 0.05)])
def test_numbers_of_a_call_are_repeated_in_arrays_of_their_type(seed: int, least: float, most: float) -> None:
    """An index that a mask is compared with is in neighbours in every other call."""
    signature = signature_of(known_of(MASK)[0])
    assert signature is not None
    drawn = draw(signature, CallCase({"n": 1000}, {"m": 1000}, seed=seed), "uniform")
    assert least <= float((drawn.arrays["m"] == drawn.scalars["index"][0]).mean()) <= most


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize(("counter", "values"), [("unsigned char", 256), ("short", 65536), ("long", None)])
def test_a_loop_that_data_end_ends_where_its_counter_wraps_around(counter: str, values: int | None, step: int) -> None:
    text = f"int f(const char *s, int k) {{ {counter} at = k; while (s[at] != 7) at += {step}; return at; }}"
    function, known = known_of(text)
    case = replace(make_case(function, known, {}, seed=2), elements={"s": 70000}, calm={"s": (1,)})
    signature = signature_of(function)
    assert signature is not None
    ends = np.flatnonzero(draw(signature, case, "uniform").arrays["s"] == 7)
    assert [*ends] == [y - x for y in (values, 70000) if y for x in range(step, 0, -1)]


def test_conditions_go_both_ways_in_timed_calls() -> None:
    text = """
    int f(int n, const unsigned char *image, const int *mask, const float *a, int t, unsigned char low) {
        int c = 0;
        for (int i = 0; i < n; i++) if (image[i] > t && image[i] > low && mask[i] != 0 && a[i] < 50.0f) c++;
        return c;
    }
    """
    function, known = known_of(text)
    case, *_ = clock_cases(function, known, {})
    assert case.choosing and case.spread == 50
    assert {x: case.ranges[x] for x in ("t", "low", "mask")} == {"t": (64, 191), "low": (64, 191), "mask": (0, 1)}
    case, *_ = clock_cases(*known_of(SCALE), {})
    assert not case.choosing


@pytest.mark.parametrize("k", ["int k", "unsigned char k"])
def test_amounts_of_shifts_are_less_than_the_bits_and_as_they_were_given(k: str) -> None:
    text = f"void f(int n, int *d, int *v, {k}) "
    text += "{ for (int i = 0; i < n; i++) d[i] = k ? (v[i] + (1 << (k - 1))) >> k : v[i]; }"
    function, known = known_of(text)
    amounts = [x.values["k"] for x in check_cases(function, known, {})]
    assert len({*amounts}) > 3 and max(amounts) < 16
    assert {x.values["k"] for x in check_cases(function, known, {"k": 5})} == {5}


REVERSED = """
void reverse(double *re, long count, long bits) {
    for (long i = 0; i < count; i++) {
        long j = 0;
        for (long b = 0; b < bits; b++) j |= ((i >> b) & 1) << (bits - 1 - b);
        if (i < j) { double t = re[i]; re[i] = re[j]; re[j] = t; }
    }
}
"""
WEIGHTED = """
void weigh(int len, unsigned char *out, const unsigned char *in, int all) {
    for (int k = 0; k < len; k++) out[k] = in[k * all / len];
}
"""


@pytest.mark.parametrize(
    ("text", "fit"),
    [(REVERSED, lambda x: x["count"] == 1 << x["bits"]), (WEIGHTED, lambda x: x["all"] % x["len"] == 0)],
    ids=["bits", "weights"],
)  # fmt: skip
def test_arguments_fit_each_other(text: str, fit: Callable[[Mapping[str, int]], bool]) -> None:
    function, known = known_of(text)
    checked = derived_cases(function, known)
    assert len(checked) >= 4 and all(fit(x.values) for x in checked)
    assert all(min(x.elements.values()) >= max(x.values.values()) for x in checked)
    first = clock_cases(function, known, {})[0].values
    assert fit(first) and max(first.values()) >= 1 << 14
    given = {"count": 1024} if "count" in first else {"all": 60}
    assert all(x.values.items() >= given.items() and fit(x.values) for x in derived_clocks(function, known, given))
    assert derived_cases(*known_of(SCALE)) == ()
