"""Numbers in structures that a nest only reads are scalars of the kernel; what may change meanwhile is refused."""

from __future__ import annotations

import numpy as np
import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile, MemberCell, RecordParameter
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.types import F32

TYPES = """
typedef struct { float x, y; int v[4]; int n; } point;
enum mode { ADD, SUB = 3 };
typedef struct { point at; struct { int n, m; } size; struct { long wide; }; enum mode mode; unsigned short k;
                 unsigned flag : 3; union { int i; float f; } any; } box;
point shared;
"""


def read(function: str, declared: str = TYPES) -> CFile:
    return read_c(Source("f.c", f"{declared}\n{function}\n"))


@pytest.mark.parametrize(
    ("function", "passed"),
    [
        ("void f(int n, float *a, point by) { for (int i = 0; i < n; i++) a[i] = by.x; }", {"by_x": "by.x"}),
        ("void f(float *a, box b) { for (int i = 0; i < b.size.n; i++) a[i] = 1; }", {"b_size_n": "b.size.n"}),
        ("void f(float *a, box b) { for (long i = 0; i < b.wide; i++) a[i] = 1; }", {"b_wide": "b.wide"}),
        (
            "void f(int n, float *a, box b) { for (int i = 0; i < n; i++) a[i * b.size.m] = b.at.y; }",
            {"b_size_m": "b.size.m", "b_at_y": "b.at.y"},
        ),
        ("void f(int n, float *a, box b) { for (int i = 0; i < n; i++) a[i] = b.mode == SUB; }", {"b_mode": "b.mode"}),
        ("void f(int n, int *a, box b) { for (int i = 0; i < n; i++) a[i] = b.k + b.flag; }", {"b_flag": "b.flag"}),
        (
            "void f(int n, double *by_x, point by) { for (int i = 0; i < n; i++) by_x[i] = by.x; }",
            {"by_x": "by_x", "by_x_2": "by.x"},
        ),
        (
            "void f(int n, float *a, box b) { box c; c = b; c.size.n = n; "
            "for (int i = 0; i < c.size.n; i++) a[i] = c.at.x; }",
            {"c_size_n": "c.size.n", "c_at_x": "c.at.x"},
        ),
    ],
)
def test_a_member_that_is_only_read_is_passed_as_it_is_written(function: str, passed: dict[str, str]) -> None:
    (region,) = read(function).functions[0].regions
    assert passed.items() <= dict(region.names).items()


def test_a_narrow_bit_field_is_an_int() -> None:
    file = read("void f(int n, int *a, box b) { for (int i = 0; i < n; i++) a[i] = b.flag - 5; }")
    assert [str(x.type) for x in file.functions[0].regions[0].kernel.scalars] == ["i32"]


@pytest.mark.parametrize(
    "function",
    [
        "void f(int n, float *a, point p, point q) { for (int i = 0; i < n; i++) { a[i] = p.x; p = q; } }",
        "void f(int n, float *a, point p) { for (int i = 0; i < n; i++) { a[i] = p.x++; } }",
        "void f(int n, float *a, point p) { for (; p.n > 0; p.n--) a[p.n] = 1; }",
        "void f(int n, float *a, volatile point p) { for (int i = 0; i < n; i++) a[i] = p.x; }",
        "typedef volatile point vp; void f(int n, float *a, vp p) { for (int i = 0; i < n; i++) a[i] = p.x; }",
        "typedef struct { volatile int x; } v; void f(int n, int *a, v p) { for (int i = 0; i < n; i++) a[i] = p.x; }",
        "void f(int n, float *a, box b) { for (int i = 0; i < n; i++) { a[i] = b.any.f; b.any.i = i; } }",
        "void f(float *a, box b) { for (int i = 0; i < b.flag; i++) a[i] = 1; }",
    ],
)
def test_a_member_that_may_change_is_refused(function: str) -> None:
    file = read(function)
    assert not file.functions[0].regions
    assert any(x.kind == "refused" for x in file.remarks)


def test_a_name_of_two_types_is_none() -> None:
    inner = "struct s { double x; }; struct s p = { 1 }; for (int i = 0; i < n; i++) a[i] = (float)p.x;"
    file = read(f"void f(int n, float *a) {{ {inner} }}", "struct s { float x; };")
    assert not file.functions[0].regions


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("for (int i = 0; i < n; i++) { p.x = (float)i; a[i] = p.x + p.y; }", "p_x"),
        ("for (int i = 0; i < n; i++) a[i] = p.x; p.x = 2; for (int i = 0; i < n; i++) a[i] += p.x;", "p_x"),
        ("point *q = &p; for (int i = 0; i < n; i++) { a[i] = p.y; q->y = 2; }", "p_y"),
        ("for (int i = 0; i < n; i++) { r->n += i; a[i] = r->x; }", "r_n"),
    ],
)
def test_a_member_that_is_set_is_a_cell(text: str, cell: str) -> None:
    file = read(f"void f(int n, float *a, point p, point *r) {{ {text} }}")
    (region,) = file.functions[0].regions
    assert f"array='{cell}" in str(region.kernel.body)


def test_values_that_a_structure_begins_with_are_those_of_its_cells() -> None:
    body = "for (int i = 0; i < n; i++) { point p = {1, 2}; p.x += i; a[i] = p.x + p.y; }"
    (region,) = read(f"void f(int n, float *a) {{ {body} }}").functions[0].regions
    a = np.zeros(5, np.float32)
    run_kernel(region.kernel, {"n": 5, "a": a})
    assert a.tolist() == [3, 4, 5, 6, 7]


ROWS = "typedef struct { int w, h; float *row; float line[64]; unsigned bits : 4; } image; image kept; image *where;"


@pytest.mark.parametrize(
    ("function", "names", "held"),
    [
        ("void f(image *p, float *a) { for (int i = 0; i < p->w; i++) a[i] = 1; }", {"p->w", "a"}, set()),
        ("void f(image *p, int *a) { for (int i = 0; i < p->w; i++) a[i] = 1; }", {"p->w", "a"}, {("a", "&p->w")}),
        ("void f(image *p) { for (int i = 0; i < p->w; i++) p->row[i] *= 2; }", {"p->w", "p->row"}, set()),
        ("void f(void) { for (int i = 0; i < 64; i++) kept.line[i] *= 2; }", {"kept.line"}, set()),
        (
            "void f(char *a) { for (int i = 0; i < where->w; i++) a[i] = 1; }",
            {"where->w", "a"},
            {("a", "&where->w")},
        ),
        (
            "void f(image **p, char *a) { for (int i = 0; i < (*p)->w; i++) a[i] = 1; }",
            {"(*p)->w", "a"},
            {("a", "&(*p)"), ("a", "&(*p)->w")},
        ),
        (
            "void f(image **p, int k, float *a) { for (int i = 0; i < 9; i++) p[k + 1]->row[i] = a[i]; }",
            {"p[k + 1]->row", "a"},
            set(),
        ),
        (
            "static void g(const image *p, float *a) { for (int i = 0; i < p->h; i++) a[i] = p->row[i]; } "
            "void f(image *q, float *a) { for (int k = 0; k < 9; k++) g(q, a + 9 * k); }",
            {"q->h", "q->row", "a"},
            set(),
        ),
    ],
)
def test_a_member_behind_an_address_is_read_where_the_nest_begins(
    function: str, names: set[str], held: set[tuple[str, str]]
) -> None:
    region = read(function, ROWS).function("f").regions[0]
    assert {text for _, text in region.names} == names
    assert {(x.array, x.address) for x in region.held} >= held


@pytest.mark.parametrize(
    "function",
    [
        "void f(image *p, float *a) { for (int i = 0; i < p->w; i++) { a[i] = 1; p->w = i; } }",
        "void f(image *p, float *a) { for (int i = 0; i < p->bits; i++) a[i] = 1; }",
        "void f(image **p, image *q) { for (int i = 0; i < (*p)->w; i++) p[i] = q; }",
        "union u { int n; float x; }; void f(union u *p, int n) { for (int i = 0; i < n; i++) p->n += i; }",
        "union u { int n; float x[9]; }; void f(union u *p, int *a) { for (int i = 0; i < 9; i++) a[i] = p->x[i]; }",
        "union u { int n; _Bool b; }; void f(union u *p, int *a) { for (int i = 0; i < 9; i++) a[i] = p->b; }",
        "void f(volatile image *p, float *a) { for (int i = 0; i < p->w; i++) a[i] = 1; }",
        "struct none; void f(struct none *p, float *a) { for (int i = 0; i < p->w; i++) a[i] = 1; }",
    ],
)
def test_what_the_nest_may_change_is_no_value_where_it_begins(function: str) -> None:
    file = read(function, ROWS)
    assert not file.function("f").regions
    assert any(x.kind == "refused" for x in file.remarks)


@pytest.mark.parametrize(
    ("function", "entered"),
    [
        ("void f(image *p, float *a, int n) { for (int i = 0; i < n; i++) a[i] = p->row[i]; }", 1),
        ("void f(image *p, int n, int *a) { for (int i = 0; i < n; i++) for (int j = 0; j < 9; j++) a[j] = p->h; }", 1),
        ("void f(image *p, float *a) { for (int i = 0; i < p->w; i++) a[i] = p->row[i]; }", 0),
    ],
)
def test_what_is_behind_an_address_is_read_only_where_loops_are_entered(function: str, entered: int) -> None:
    (region,) = read(function, ROWS).functions[0].regions
    assert len(region.kernel.assumptions) == entered


def test_what_conditions_alone_read_is_not_read_in_front_of_the_nest() -> None:
    loop = "for (int i = 0; i < n; i++) { if (flag) a[i] = p->h; else a[i] = 0; }"
    file = read(f"void f(image *p, float *a, int n, int flag) {{ {loop} }}", ROWS)
    assert not file.functions[0].regions
    assert [x.id for x in file.remarks] == ["scop-struct"]


@pytest.mark.parametrize(
    ("function", "names"),
    [
        ("void f(int *w, int k, float *a) { for (int i = 0; i < w[k + 1]; i++) a[i] = 1; }", {"w[k + 1]", "a"}),
        ("void f(int *n, float *a) { for (int i = 0; i < *n; i++) a[i] = 1; }", {"(*n)", "a"}),
        ("void f(short *p, int *a, int *b) { for (int i = 0; i < 9; i++) a[i] = b[i + p[2]]; }", {"p[2]", "a", "b"}),
        ("void f(int *s, float *a) { for (int i = s[0]; i < s[1]; i++) a[i] = 1; }", {"s[0]", "s[1]", "a"}),
    ],
)
def test_an_element_that_stays_as_it_is_may_be_a_size(function: str, names: set[str]) -> None:
    (region,) = read(function).functions[0].regions
    assert {text for _, text in region.names} == names


@pytest.mark.parametrize(
    "function",
    [
        "void f(int *w, float *a) { for (int i = 0; i < w[i]; i++) a[i] = 1; }",
        "void f(int *w) { for (int i = 0; i < w[0]; i++) w[i] = 1; }",
        "void f(int *w, float *a) { for (int i = 0; i < w[0]; i++) { a[i] = 1; w++; } }",
        "void f(volatile int *w, float *a) { for (int i = 0; i < w[0]; i++) a[i] = 1; }",
        "void f(int k, int *w, float *a) { for (; k < 9; k++) if (k > 3) { int m = *w; a[m] = 1; } }",
    ],
)
def test_an_element_that_may_change_is_no_size(function: str) -> None:
    sizes = [dict(x.names)[size] for x in read(function).functions[0].regions for size in x.kernel.sizes]
    assert not any("w" in x for x in sizes)


PARTS = (
    "typedef struct { float x[3]; int n; struct { short a, b; } in; float *q; } part; "
    "struct bits { int a : 3; int b; };"
)


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        ("void f(part *p, int n) { for (int i = 0; i < n; i++) p[i].x[1] += p[i].x[2]; }", {("p_f32", 8)}),
        ("void f(part *p, int n) { for (int i = 0; i < n; i++, p++) p->n = p->in.b; }", {("p_i32", 8), ("p_i16", 16)}),
        (
            "void f(part *p, int n) { for (int i = 0; i < n; i++) for (int k = 0; k < 3; k++) p[i].x[k] = p[i].n; }",
            {("p_f32", 8), ("p_i32", 8)},
        ),
    ],
)
def test_members_of_elements_are_rows(function: str, rows: set[tuple[str, int]]) -> None:
    (region,) = read(function, PARTS).functions[0].regions
    assert {(x.name, x.shape[1].value) for x in region.kernel.arrays} == rows
    assert set(region.views.values()) == {"p"}
    assert "sizeof(*p) == 32" in region.conditions


@pytest.mark.parametrize(
    "function",
    [
        "void f(part *p, int n) { for (int i = 0; i < n; i++) p[i].q[0] = 1; }",
        "void f(struct bits *p, int n) { for (int i = 0; i < n; i++) p[i].b = 1; }",
        "void f(part *p, part *r, int n) { for (int i = 0; i < n; i++) p[i] = r[i]; }",
        "void f(part **p, int n) { for (int i = 0; i < n; i++) p[i]->n = 1; }",
    ],
)
def test_members_of_elements_that_are_not_known_are_refused(function: str) -> None:
    assert not read(function, PARTS).functions[0].regions


_COMPLEX = "typedef struct { float r, i; } complex; struct plan { int n; complex twiddles[1]; };"


def test_the_first_element_of_a_local_array_of_structures_is_a_row_of_it() -> None:
    body = "complex t[3]; for (int i = 0; i < n; i++) { t[0].r = z[i].r; t[1].r = t[0].r + z[i].i; z[i].i = t[1].r; }"
    text = f"{_COMPLEX} void f(int n, complex *z) {{ {body} }}"
    (region,) = read_c(Source("f.c", text)).functions[0].regions
    assert {x.name for x in region.kernel.arrays} == {"t_f32", "z_f32"}


def test_a_member_that_goes_on_behind_its_structure_is_known() -> None:
    text = f"{_COMPLEX} void f(struct plan *p, complex *z) {{ for (int i = 0; i < p->n; i++) z[i] = p->twiddles[i]; }}"
    form = read_c(Source("f.c", text)).functions[0].parameters[0].form
    assert isinstance(form, RecordParameter)
    assert form.tail == MemberCell("twiddles", F32)


ENDS = """
struct row { int n; short tail[4]; };
struct outer { int k; struct row in; };
struct inner { struct row in; int k; };
struct nameless { int k; struct { int n; short tail[4]; }; };
struct table { int n; short tail[2][4]; };
struct first { short tail[4]; int n; };
struct row all;
"""


@pytest.mark.parametrize(
    ("what", "value", "clamped"),
    [
        ("const struct row *p", "p->tail[at[i]]", [False]),
        ("const struct row p[1]", "p->tail[at[i]]", [False]),
        ("const struct row *p", "at[i] > 0 ? p->tail[at[i]] : 0", []),
        ("const struct outer *p", "p->in.tail[at[i]]", [False]),
        ("const struct nameless *p", "p->tail[at[i]]", [False]),
        ("const struct table *p", "p->tail[1][at[i]]", [False]),
        ("const short p[4]", "at[i] > 0 ? p[at[i]] : 0", []),
        ("short p[][4]", "at[i] > 0 ? p[1][at[i]] : 0", []),
        ("const struct inner *p", "p->in.tail[at[i]]", [True]),
        ("const struct first *p", "p->tail[at[i]]", [True]),
        ("struct row p", "p.tail[at[i]]", [True]),
        ("int p", "all.tail[at[i]]", [True]),
        ("int p", "at[i] > 0 ? all.tail[at[i]] : 0", [True]),
    ],
)
def test_data_choose_inside_arrays_that_are_as_long_as_declared(what: str, value: str, clamped: list[bool]) -> None:
    head = f"void f(int n, const int *at, {what}, int *restrict out)"
    (function,) = read(f"{head} {{ for (int i = 0; i < n; i++) out[i] = {value}; }}", ENDS).functions
    assert ["min(" in y or "u8(" in y for y in (print_kernel(x.kernel) for x in function.regions)] == clamped


def test_any_store_may_change_a_member_of_a_union() -> None:
    head = "union u { int n; float x; double *d; }; typedef struct { int kind; union { short *s; long *l; }; } one; "
    body = "{ for (int i = 0; i < p->n; i++) a[i] = p->d[i]; }"
    (region,) = read(f"{head} void f(union u *p, double *a) {body}").function("f").regions
    assert {(x.array, x.address) for x in region.held} == {("a", "&p->n"), ("a", "&p->d")}
    (region,) = read(head + "void f(one *p, int n) { while (n--) p->s[n] = 1; }").function("f").regions
    assert {x.address for x in region.held} == {"&p->s"}
