"""Assignments and commas inside of expressions are carried out before these, where they are evaluated in any case."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.ir.text.printer import print_stmt

HEAD = "void f(int n, int m, const float *a, float *b) { float t; int k, l; for (int i = 0; i < n; i++) "


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ("{ l = (k = i * m) + 1; b[l] = a[k]; }", ["b[i * m + 1] = a[i * m]"]),
        ("b[i] = (k = 2 * i, a[k + 1]);", ["b[i] = a[2 * i + 1]"]),
        ("b[i] = 2 * (t = a[i]);", ["t[] = a[i]", "b[i] = 2.0:f32 * t[]"]),
        ("b[k = i + 3] = a[i], b[k + 1] = 0;", ["b[i + 3] = a[i]", "b[i + 4] = 0.0:f32"]),
    ],
)
def test_they_come_first(body: str, stored: list[str]) -> None:
    (region,) = read_c(Source("f.c", f"{HEAD}{body} }}")).functions[0].regions
    text = print_stmt(region.kernel.body)
    places = [text.find(x) for x in stored]
    assert -1 not in places and places == sorted(places), text


@pytest.mark.parametrize(
    "body",
    [
        "b[i] = a[i] > 0 ? (t = a[i]) : 0;",
        "if (a[i] > 0 && (t = a[i]) < 4) b[i] = t;",
        "b[i] = (b[i + 1] = a[i]) + 1;",
    ],
)
def test_operands_that_may_not_be_evaluated_and_stores_stay(body: str) -> None:
    assert not read_c(Source("f.c", f"{HEAD}{body} }}")).functions[0].regions


def test_members_of_other_structures_than_the_first_are_read_where_the_nest_begins() -> None:
    text = "typedef struct { int n; float *w; } layer; "
    text += "void f(layer *l, int k, float *y) { for (int i = 0; i < l[k].n; i++) y[i] += l[k + 1].w[i]; }"
    (region,) = read_c(Source("f.c", text)).functions[0].regions
    assert {"(l[k].n)", "l[k + 1].w"} <= {x for _, x in region.names}
    text = text.replace("y[i] +=", "l[k].n = i, y[i] +=")
    assert not read_c(Source("f.c", text)).functions[0].regions
