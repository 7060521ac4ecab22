"""Small arrays of addresses and of subscripts are variables where numbers tell their elements apart, and only there."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c

HEAD = """
#include <stddef.h>
void other(const int **rows);
int own(const int *rows[2], size_t i) { return rows[0][i] + rows[1][i]; }
static int both(const int *rows[2], size_t at[2]) { return rows[0][at[0]] + rows[1][at[1]]; }
static void turn(const int *rows[2]) { const int *x = rows[0]; rows[0] = rows[1]; rows[1] = x; }
"""
LOOP = "for (size_t i = 0; i < n; i++) { at[0] = i; at[1] = i + 1; c[i] = both(rows, at); }"


def arrays(body: str) -> list[tuple[str, ...]]:
    """The arrays of each kernel of a function."""
    text = HEAD + "void f(size_t n, size_t k, const int *a, const int *b, int *c) { size_t at[2]; " + body + " }"
    return [tuple(y.name for y in x.kernel.arrays) for x in read_c(Source("f.c", text)).functions[-1].regions]


@pytest.mark.parametrize(
    "body",
    [
        "const int *rows[2]; rows[0] = a; rows[1] = b; " + LOOP,
        "const int *rows[2] = {a, b}; " + LOOP,
        "const int *rows[] = {a, b}; " + LOOP,
        "const int *rows[2]; rows[0] = rows[1] = 0; { rows[0] = a + k; rows[1] = b; } " + LOOP,
    ],
)
def test_what_is_taken_apart(body: str) -> None:
    (found,) = arrays(body)
    assert not {"rows", "at"} & {*found} and len(found) == 3


@pytest.mark.parametrize(
    "body",
    [
        "const int *rows[2] = {a, b}; rows[k] = c; " + LOOP,
        "const int *rows[2] = {a, b}; turn(rows); " + LOOP,
        "const int *rows[2] = {a, b}; other(rows); " + LOOP,
        "const int *rows[2] = {a, b}, **p = &rows[1]; *p = c; " + LOOP,
        "const int *rows[3] = {a, b}; " + LOOP,
        "static const int *rows[2]; rows[0] = a; rows[1] = b; " + LOOP,
    ],
)
def test_what_stays_an_array(body: str) -> None:
    assert arrays(body) == []
