"""Calls of functions that compare elements for equality: many are equal.

    alike_cases(function, known)  # {'a': (0, 2)}: what is compared has one of three values
"""

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.run.sizes.alike_elements import compared, float_constants, ordered

LOOPS = {
    "int f(short *a, short *b, int n) { int c; for (int i = 0; i < n; i++) c += a[i] == b[i]; return c; }": {"a", "b"},
    "int f(double *v, int n) { int r = 0; double last = -1; for (int i = 0; i < n; i++) {"
    " if (v[i] != last) r++; last = v[i]; } return r; }": {"v", "last"},
    "void f(int *a, int n) { for (int i = 1; i < n; i++) if (a[i] == a[i - 1]) a[i] = 0; }": {"a"},
    "int f(int *a, int *d, int v, int n) { int s = 0; for (int i = 0; i < n; i++) if (a[i] == v) s += 9 / d[i];"
    " return s; }": {"a", "v"},
    "int f(int *a, int *d, int n) { int s = 0; for (int i = 0; i < n; i++) if (a[i] == d[i]) s += 9 / d[i];"
    " return s; }": {"a"},
    "void f(int *a, int n) { for (int i = 1; i < n; i++) if (a[i] == 7 || a[i] < a[i - 1]) a[i] = 0; }": set[str](),
}


@pytest.mark.parametrize("text", LOOPS)
def test_what_is_compared_for_equality(text: str) -> None:
    (region,) = read_c(Source("f.c", text)).functions[0].regions
    assert compared(region.kernel) == LOOPS[text]


ORDERED = {
    "int f(unsigned short *a, unsigned short *b, int n) { int c; for (int i = 0; i < n; i++) c += a[i] < b[i];"
    " return c; }": ({"a", "b"}, set[float]()),
    "int f(float *a, int n) { int c; for (int i = 0; i < n; i++) c += a[i] > 0.0f; return c; }": (set[str](), {0.0}),
    "void f(double *a, double *o, double t, int n) { for (int i = 0; i < n; i++) { double v = a[i];"
    " if (v >= t || v < -2.5) o[i] = v; } }": ({"a", "t"}, {-2.5}),
    "void f(double *a, double *o, double t, int n) { for (int i = 0; i < n; i++) if (a[i] * 3 > t) o[i] = 1; }":
        (set[str](), set[float]()),
    "void f(float *a, float *o, int n) { for (int i = 0; i < n; i++) o[i] = a[i] > 0 ? 1 / a[i] : 0; }":
        (set[str](), set[float]()),
}  # fmt: skip


@pytest.mark.parametrize("text", ORDERED)
def test_what_is_compared_for_which_is_less(text: str) -> None:
    (region,) = read_c(Source("f.c", text)).functions[0].regions
    assert (ordered(region.kernel), float_constants(region.kernel)) == ORDERED[text]
