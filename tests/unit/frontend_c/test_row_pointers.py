"""Rows through pointers: one row is read where the nest begins, several are one array whose rows are evenly spaced."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import Region

TYPES = "typedef struct { int w, h; unsigned char **rows; float *planes[4]; } image; void g(int);"


def regions(function: str) -> tuple[Region, ...]:
    return read_c(Source("f.c", f"{TYPES}\n{function}\n")).function("f").regions


@pytest.mark.parametrize(
    ("function", "passed"),
    [
        ("void f(float **a, int k, int n) { for (int i = 0; i < n; i++) a[k][i] += 1; }", "a[k]"),
        ("void f(image *p, int y) { for (int x = 0; x < p->w; x++) p->rows[y][x] = 0; }", "p->rows[y]"),
        ("void f(image *p, int n) { for (int i = 0; i < n; i++) p->planes[2][i] *= 2; }", "p->planes[2]"),
        ("void f(image *p, int n) { int y = 0; while (y < n) { for (int i = 0; i < n; i++) p->rows[y][i] = 1; y++; "
         "g(y); } }", "p->rows[y]"),
    ],
)  # fmt: skip
def test_one_row_is_read_where_the_nest_begins(function: str, passed: str) -> None:
    (region,) = regions(function)
    assert passed in {text for _, text in region.names} and not region.spaced


@pytest.mark.parametrize(
    ("function", "tables"),
    [
        ("void f(int n, int m, double **a) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = 0; }",
         {"a"}),
        ("void f(image *p) { for (int y = 0; y < p->h; y++) { unsigned char *r = p->rows[y]; "
         "for (int x = 0; x < p->w; x++) *r++ = 0; } }", {"p->rows"}),
        ("void f(int n, float **a, float **b) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "
         "a[i][j] = b[j][i] + a[0][j]; }", {"a", "b"}),
    ],
)  # fmt: skip
def test_several_rows_are_one_array(function: str, tables: set[str]) -> None:
    (region,) = regions(function)
    assert {x.table for x in region.spaced} == tables
    assert {x.apart for x in region.spaced} <= set(region.kernel.sizes)


@pytest.mark.parametrize(
    ("function", "passed"),
    [
        ("void f(int n, double **a) { for (int i = 1; i < n; i++) a[i - 1] = a[i]; }", "((void **)a)"),
        ("void f(int n, const char *a[]) { while (n--) *a++ = 0; }", "((void **)a)"),
        ("void f(image *p, int y) { for (; y < p->h; y++) p->rows[y] = p->rows[y + 1]; }", "((void **)p->rows)"),
        ("int f(int n, image *p) { for (int i = 0; i < n; i++) if (!p[i].rows) return i; return n; }", "p"),
        ("int f(image *p, image *e) { int s = 0; for (; p < e; p++) if (p->rows != 0) s += p->w; return s; }", "p"),
        ("void f(int n, void (**a)(int), void (**b)(int)) { for (int i = 0; i < n; i++) if (b[i]) a[i] = b[i]; }",
         "((void **)b)"),
    ],
)  # fmt: skip
def test_addresses_are_integers_that_nothing_follows(function: str, passed: str) -> None:
    (region,) = regions(function)
    assert passed in {text for _, text in region.names} and not region.spaced
    assert "planish_address" in dict(region.declared).values()


def test_an_address_that_may_be_stored_to_is_asked_for() -> None:
    (region,) = regions("void f(image *p, int n) { for (int i = 0; i < n; i++) p->rows[i] = p->rows[i + 1]; }")
    assert [x.address for x in region.held] == ["&p->rows"]
    assert "sizeof(void *) == 8" in region.conditions


@pytest.mark.parametrize(
    "function",
    [
        "void f(int n, double **a) { for (int i = 0; i < n; i++) { a[i] = a[i + 1]; a[i][0] = 1; } }",
        "void f(int n, char **a, int *s) { for (int i = 0; i < n; i++) s[i] = a[i + 1] - a[i]; }",
        "void f(int n, char **a) { for (int i = 0; i < n; i++) a[i] = a[i] + 1; }",
        "void f(int n, char **a) { for (int i = 0; i < n; i++) a[i] += 1; }",
        "void f(int n, image *p, int *s) { for (int i = 0; i < n; i++) s[i] = p[i].rows[0][0]; }",
        "void f(int n, char *volatile *a) { for (int i = 0; i < n; i++) a[i] = 0; }",
        "void f(int n, char *_Atomic *a) { for (int i = 0; i < n; i++) a[i] = 0; }",
    ],
)
def test_addresses_that_are_followed_or_changed_are_no_integers(function: str) -> None:
    assert not any("planish_address" in dict(x.declared).values() for x in regions(function))


@pytest.mark.parametrize(
    "function",
    [
        "void f(int n, double **a) { for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) a[i][j] = 0; }",
        "void f(int n, int *k, double **a) { for (int i = 0; i < n; i++) if (k[i]) a[i][0] = 0; }",
        "void f(int n, double **a, double *b) { for (int i = 0; i < n; i++) a[i] = b; }",
        "void f(int n, double **a, double *b) { for (int i = 0; i < n; i++) { a[i] = b; a[i][0] = 1; } }",
        "void f(int n, int m, double **a) { for (int i = 0; i < n; i++) a[i][m * i + a[i] - a[0]] = 1; }",
    ],
)
def test_rows_that_might_not_be_read_are_no_array(function: str) -> None:
    assert not any(x.spaced for x in regions(function))
