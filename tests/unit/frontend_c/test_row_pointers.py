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
