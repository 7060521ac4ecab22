"""Small arrays of addresses and of subscripts are variables where numbers tell their elements apart, and only there."""

from __future__ import annotations

import pytest
from pycparser.c_generator import CGenerator
from pycparser.c_parser import CParser

from planish.core.span import Source
from planish.frontend.c.analysis.scope import bind_file
from planish.frontend.c.reader import read_c
from planish.frontend.c.structures.address_tables import AddressTables

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


@pytest.mark.parametrize(
    ("text", "is_taken_apart"),
    [
        ("int f(int *a, int *b) { int *rows[2] = {a, b}; return rows[K][0]; }", True),
        ("int f(int *a, int *b, int n) { int K = n > 3; int *rows[2] = {a, b}; return rows[K][0]; }", False),
        ("int f(int *a, int *b, int K) { int *rows[2] = {a, b}; return rows[K][0]; }", False),
        ("int f(int *a, int *b) { int *rows[2] = {a, b}; enum { K }; return rows[K][0]; }", False),
        ("int f(int *a, int n) { int k[2] = {0, 1}; { int K = n; k[K] = 3; } return a[k[0]]; }", False),
        ("int f(int *a, int K) { int *rows[K]; rows[0] = a; return rows[0][0]; }", False),
        ("int g(int *r[2]) { return r[K][0]; } int f(int *a, int *b) { int *r[2] = {a, b}; return g(r); }", True),
        (
            "int g(int *r[2], int n) { int K = n; return r[K][0]; } "
            "int f(int *a, int *b, int n) { int *r[2] = {a, b}; return g(r, n); }",
            False,
        ),
    ],
)
def test_names_of_enumerators_that_are_declared_anew_number_nothing(text: str, is_taken_apart: bool) -> None:
    tree = CParser().parse("enum { K = 1 }; " + text)
    before = CGenerator().visit(tree.ext[-1])
    AddressTables(bind_file(tree)).rewrite(tree.ext[-1])
    assert (CGenerator().visit(tree.ext[-1]) != before) == is_taken_apart


def test_what_takes_elements_has_its_own_name_in_remarks() -> None:
    text = (
        "static int sum(int *rows[2], int i) { static int c; c++; return rows[0][i] + c + rows[1][i]; }"
        "void f(int n, int *a, int *b, int *c) { int *rows[2] = {a, b}; "
        "for (int i = 0; i < n; i++) c[i] = sum(rows, i); }"
    )
    told = [x.message for x in read_c(Source("f.c", text)).remarks]
    assert any("a call of sum, which sets c" in x for x in told)
