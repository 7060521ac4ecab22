"""Nests whose text comes out of macros are found where the macros stand, if these begin and end with statements."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c

MACROS = """
#define FOR_ALL(i, n) for (int i = 0; i < (n); i++)
#define CLEAR(a, n) do { for (int i_ = 0; i_ < (n); i_++) (a)[i_] = 0; } while (0)
#define ROWS(y) FOR_ALL(y, 4)
#define BEGIN(i, n) for (int i = 0; i < (n); i++) {
#define END }
#define TWICE(x) x x
#define SET(a, i, v) a[i] = v
"""


@pytest.mark.parametrize(
    ("body", "taken"),
    [
        ("FOR_ALL(i, n) a[i] = i;", ["FOR_ALL(i, n) a[i] = i;"]),
        ("g(); ROWS(y) FOR_ALL(x, n) { SET(a, y * n + x, y); }", ["ROWS(y) FOR_ALL(x, n) { SET(a, y * n + x, y); }"]),
        ("g(); CLEAR(a, n);", ["CLEAR(a, n);"]),
        ("BEGIN(i, n) a[i] = i; END g();", ["BEGIN(i, n) a[i] = i; END"]),
        ("if (n > 4) FOR_ALL(i,\n  n)\n  a[i] = i; else g();", ["FOR_ALL(i,\n  n)\n  a[i] = i;"]),
        ("TWICE(for (int i = 0; i < n; i++) a[i] += i;)", []),
        ("\n#ifdef OTHER\nBEGIN(k, 3)\n#else\nBEGIN(k, n)\n#endif\na[k] = 1; END g();", []),
        ("\n#ifdef OTHER\nFOR_ALL(k, 3) a[k] = 2;\n#else\nSET(a, 1,\n 2); FOR_ALL(k, n) a[k] = 1;\n#endif\n", None),
    ],
)
def test_the_text_of_a_nest_is_that_of_whole_macros(body: str, taken: list[str] | None) -> None:
    text = f"{MACROS}\nvoid g(void);\nvoid f(int n, int *a) {{ {body} }}\n"
    regions = read_c(Source("f.c", text)).functions[0].regions
    found = [text[x.start : x.end] for x in regions]
    if taken is None:
        assert found and all(x.endswith("FOR_ALL(k, n) a[k] = 1;") for x in found)
    else:
        assert found == taken


def test_a_loop_within_a_macro_is_refused_by_its_place() -> None:
    text = f"{MACROS}\nvoid f(int n, int *a)\n{{\n    TWICE(for (int i = 0; i < n; i++) a[i] += i;)\n}}\n"
    remarks = read_c(Source("f.c", text)).remarks
    assert {(x.id, x.span.line if x.span else 0) for x in remarks} == {("scop-macro", 12)}


def test_what_holds_back_a_loop_of_a_macro_is_told() -> None:
    text = """extern int get(int);
#define FILL(a, n) do { for (int i = 0; i < n; i++) a[i] = get(i); } while (0)
#define MAKE(N) void f##N(int n, int *a) { for (int i = 0; i < n; i++) { a[i] = get(N); } }
#define ADD(a, n) do { for (int i = 0; i < n; i++) a[i] += n; } while (0)
void g(int n, int *a) { ADD(a, n); FILL(a, n); }
MAKE(2)
"""
    file = read_c(Source("f.c", text))
    assert [len(x.regions) for x in file.functions] == [1, 0]
    told = [(x.id, x.place.line if x.place else 0) for x in file.remarks if x.kind == "refused"]
    assert told == [("scop-call", 5), ("scop-call", 6)]
