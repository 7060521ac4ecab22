"""Which variables of a file a function works on, however their lengths are written and their names are hidden."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFunction, RecordParameter


def read(text: str, name: str = "f") -> CFunction:
    return read_c(Source("f.c", text)).function(name)


def listed(text: str) -> dict[str, int]:
    return {x.name: x.cell.count for x in read(text).globals}


@pytest.mark.parametrize(
    "extent",
    ["N", "2 * N - 72", "sizeof(double) * 9", "sizeof(number) * 18", "sizeof(short[N]) - 72", "sizeof(number[2][9])"],
)
def test_lengths_are_constants_of_any_form(extent: str) -> None:
    types = "enum { M = 8, N = 9 * M }; typedef int number; "
    text = types + f"static float a[{extent}]; void f(void) {{ for (int i = 0; i < 72; i++) a[i] = i; }}"
    (count,) = listed(text).values()
    assert count == 72
    assert read(text).regions[0].unseen == ()


def test_members_may_have_lengths_by_enumerators() -> None:
    text = "enum { N = 6 }; struct s { int n; float v[N][N]; }; void f(struct s *p) { p->n = 1; }"
    form = read(text).parameters[0].form
    assert isinstance(form, RecordParameter)
    assert [(x.path, x.count) for x in form.cells] == [("n", 1), ("v", 36)]


SIZED_BY_RECORD = "struct s { int n; float *p; }; static float a[sizeof(struct s)], b[64]; float *rows[4]; "


@pytest.mark.parametrize(
    ("body", "unseen"),
    [
        ("for (int i = 0; i < 16; i++) a[i] = i;", ("a",)),
        ("for (int i = 0; i < 16; i++) b[i] = a[i];", ()),
        ("float *p = &a[0]; for (int i = 0; i < 16; i++) p[i] = i;", ("a",)),
        ("float *p, *q = a; p = q + 1; for (int i = 0; i < 8; i++) p[i] = i;", ("a",)),
        ("float *p = b; x[0] = a[0]; for (int i = 0; i < 16; i++) p[i] = x[i];", ()),
        ("float *p = rows[n]; for (int i = 0; i < n; i++) p[i] = i;", ("rows",)),
        ("float *p = get(); for (int i = 0; i < n; i++) p[i] = i; x[0] = a[1];", ("a",)),
        ("for (int i = 0; i < n; i++) x[i] = a[i & 3] + 1;", ()),
    ],
)
def test_what_no_check_compares_is_told(body: str, unseen: tuple[str, ...]) -> None:
    text = SIZED_BY_RECORD + f"float *get(void) {{ return a; }} void f(int n, float *restrict x) {{ {body} }}"
    told = {x for region in read(text).regions for x in region.unseen}
    assert told == {*unseen}


def test_what_an_address_begins_with_is_compared() -> None:
    text = "static float own[40]; float *p = own; const float *q = own; void f(int n) { p[n] = q[0]; }"
    assert listed(text) == {"own": 40}
    assert listed("const float *q; void f(float *x) { x[0] = q[0]; }") == {"q": 1}
    assert listed("static float own[40]; float *const p = own; void f(int n) { p[n] = 1; }") == {"own": 40}


@pytest.mark.parametrize(
    "hiding",
    [
        "{ int n = 3; float a[3]; a[0] = n; b[0] = a[0]; }",
        "for (int n = 0, a = 2; n < a; n++) b[n] = 1;",
        "{ struct { int n, a; } s = {1, 2}; b[0] = s.n; }",
        "{ enum { n = 2, a = 3 }; b[n] = a; }",
    ],
)
def test_names_are_hidden_in_their_blocks_only(hiding: str) -> None:
    body = "for (int i = 0; i < n && i < 256; i++) a[i] += b[i];"
    text = f"int n = 40; float a[256]; void g(float *b) {{ {hiding} }} void f(float *b) {{ {body} {hiding} }}"
    assert listed(text) == {"a": 256, "n": 1}
    assert read(text, "g").globals == ()


def test_lengths_of_parameters_and_what_is_called_count() -> None:
    body = "{ int g = 1; a[0][0] = g; } g(); h();"
    text = f"int n = 4, k; void g(void) {{ k++; }} void f(float a[n][n], void (*h)(void)) {{ {body} }}"
    assert listed(text) == {"k": 1, "n": 1}
    assert read(text).outside == ()


def test_what_others_define_is_as_large_as_c_says() -> None:
    text = "struct s { double v[9999]; }; extern struct s all[20]; extern float b[]; "
    completion = read(text + "void f(void) { b[0] = all[1].v[2]; }").completion
    assert "sizeof(all) + 64" in completion
    assert "[65536]" in completion
