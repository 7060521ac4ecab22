"""Subscripts that wrap around: which are read as choices of affine ones, under which assumptions, and which are not."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile
from planish.ir.expr import Select
from planish.ir.nest import Alloc, Assign, If
from planish.ir.text.printer import print_expr
from planish.ir.traverse import expressions, loads, walk, walk_expr

LOOP = "for (int i = 0; i < n; i++)"


def read(body: str, parameters: str = "int n, int m, double *restrict a, double *restrict b") -> CFile:
    return read_c(Source("a.c", f"#include <stddef.h>\nvoid f({parameters}) {{ {body} }}"), fp="strict")


def subscripts(file: CFile) -> list[str]:
    """What `a` is read at, in all parts."""
    (region,) = file.functions[0].regions
    stored = [x for x in walk(region.kernel.body) if isinstance(x, Assign)]
    assert not any(isinstance(y, Select) for x in stored for e in expressions(x) for y in walk_expr(e))
    return [print_expr(load.index[0]) for x in stored for load in loads(x.value)]


def assumed(file: CFile) -> set[str]:
    (region,) = file.functions[0].regions
    return {print_expr(x) for x in region.kernel.assumptions}


@pytest.mark.parametrize(
    ("body", "parts", "assumption"),
    [
        (f"{LOOP} b[i] = a[(i + 1) % n];", ["i + 1", "i - n + 1"], "n - 1 >= 0"),
        (f"{LOOP} b[i] = a[(i - 1 + n) % n];", ["i + n - 1", "i - 1"], "n - 1 >= 0"),
        (f"{LOOP} b[i] = a[(i + 2) % n];", ["i + 2", "i - n + 2"], "n - 2 >= 0"),
        (f"{LOOP} b[i] = a[2 * i % n];", ["2 * i", "2 * i - n"], "n - 1 >= 0"),
        (f"{LOOP} b[i] = a[3 * i % n];", ["3 * i", "3 * i - n", "3 * i - 2 * n"], "n - 1 >= 0"),
        (f"{LOOP} b[i] = a[(i + 3 * n + 1) % n];", ["i + 1", "i - n + 1"], "n - 1 >= 0"),
        ("for (int i = 0; i < 10; i++) b[i] = a[(i + 9) % 10];", ["i + 9", "i - 1"], ""),
        (f"{LOOP} b[i] = a[((i - 1) % n + n) % n];", ["i + n - 1", "i - 1"], "n - 1 >= 0"),
        (f"{LOOP} b[i] = a[(i - 4) / 2 + 2];", ["2 - (4 - i) // 2", "(i - 4) // 2 + 2"], ""),
        (f"{LOOP} b[i] = a[i > 0 ? i - 1 : n - 1];", ["i - 1", "n - 1"], ""),
        (f"{LOOP} {{ int r = i == n - 1 ? 0 : i + 1; b[i] = a[r]; }}", ["0", "i + 1"], ""),
        (f"{LOOP} {{ int l = i - 1; if (l < 0) l += n; b[i] = a[l]; }}", ["i + n - 1", "i - 1"], ""),
        (f"{LOOP} {{ int l; if (i) l = i - 1; else l = n - 1; b[i] = a[l]; }}", ["i - 1", "n - 1"], ""),
        (f"int l = n - 1; {LOOP} {{ b[i] = a[l]; l = i; }}", ["l", "i - 1"], ""),
        ("for (int i = 0, l = m; i < n; l = i++) b[i] = a[l];", ["m", "i - 1"], ""),
        (f"int l = 4, k = m; {LOOP} {{ b[i] = a[k]; k = l; l = 2 * i + 1; }}", ["k", "l", "2 * i - 3"], ""),
        ("int l = 0; for (int i = n; i > 0; i -= 3) { b[i] = a[l]; l = i; }", ["l", "n - 3 * i + 3"], ""),
    ],
)
def test_is_cut_into_affine_parts(body: str, parts: list[str], assumption: str) -> None:
    file = read(body)
    assert subscripts(file) == parts
    assert not assumption or assumption in assumed(file)
    assert [x.message for x in file.remarks if x.id == "scop-parts"] == [
        f"index-set splitting into {len(parts)} parts, without selected or wrapped subscripts"
    ]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"{LOOP} b[i] = a[(i + 1) % m] + a[(i + m) % (3 * i)];", "(i + 1)%m is not affine"),
        (f"{LOOP} b[i] = a[5 * i % n];", "5*i%n is not affine"),
        (f"{LOOP} b[i] = a[(i * i + 1) % n];", "may be negative"),
        (f"{LOOP} b[i] = a[b[i] > 0 ? i : 0];", "read from an array"),
    ],
)
def test_stays_as_written_where_stores_may_reach_what_is_read(body: str, reason: str) -> None:
    assert read(body).functions[0].regions
    file = read(body, "int n, int m, double *a, double *b")
    assert not file.functions[0].regions
    assert any(reason in x.message for x in file.remarks), [x.message for x in file.remarks]


@pytest.mark.parametrize("at", ["(i + 1) % m", "(i + m) % n", "(i - 1) % n", "(i - m) & n"])
def test_loops_are_cut_where_a_subscript_goes_round(at: str) -> None:
    file = read(f"{LOOP} b[i] = a[{at}];", "int n, int m, double *a, double *b")
    assert [x.message for x in file.remarks if x.id == "c-ring"]
    assert len(file.functions[0].regions) == 1


STEPPED = "int n, int at, int m, double *restrict a, double *restrict b"
MEMBERS = "struct ring { double *line; int at, m; }; "


@pytest.mark.parametrize(
    "step",
    [
        "if (++at == m) at = 0;",
        "if (at++ >= m - 1) { at = 0; }",
        "at++; if (m <= at) at = 0;",
        "at = at + 1 == m ? 0 : at + 1;",
        "at = (at < m - 1) ? at + 1 : 0;",
        "if (--at < 0) at = m - 1;",
        "if (!at) at = m - 1; else at--;",
        "at += 5; if (at >= m) at -= m;",
        "at = at - 2; if (at < 0) at += m;",
    ],
)
def test_loops_are_cut_before_a_place_is_set_back(step: str) -> None:
    for body in (f"b[i] = a[at]; {step}", f"{step} b[i] = a[at];"):
        file = read(f"{LOOP} {{ {body} }}", STEPPED)
        assert [x.message for x in file.remarks if x.id == "c-ring"]
        (region,) = file.functions[0].regions
        assert "at" not in dict(region.names).values() and not region.updates[1:]
        member = body.replace("at", "s->at").replace("m", "s->m").replace("a[", "s->line[")
        file = read_c(Source("a.c", f"{MEMBERS} void f(int n, struct ring *s, double *b) {{ {LOOP} {{ {member} }} }}"))
        assert [x.message for x in file.remarks if x.id == "c-ring"] and len(file.functions[0].regions) == 1


@pytest.mark.parametrize(
    "body",
    [
        "b[i] = a[at]; if (++at == m) at = 0; if (b[i] > 3) at = 0;",
        "b[i] = a[at]; if (b[i] > 3 && ++at == m) at = 0;",
        "b[i] = a[at]; if (++at == m) { at = 0; m--; }",
        "b[i] = a[at]; at += m; if (at >= m) at = 0;",
        "b[i] = a[at]; at += 2; if (at == m) at = 0;",
        "b[i] = a[at]; if (++at < m) at = 0;",
        "b[i] = a[at]; if (++at == 3) at = 0;",
        "b[i] = a[at]; if (at == 0) at = 7; else at--;",
        "b[i] = a[at]; at = at > 0 ? at - 1 : 7;",
        "b[i] = a[at]; int *p = &at; if (++at == m) at = 0; ++*p;",
        "{ int at = i; b[i] = a[at]; } if (++at == m) at = 0; b[i] += a[at];",
        "int at = m / 2; b[i] = a[at]; if (++at == m) at = 0;",
        "enum { m = 40 }; b[i] = a[at]; if (++at >= m) at = 0;",
    ],
)
def test_loops_are_not_cut_where_a_place_goes_otherwise(body: str) -> None:
    assert not [x for x in read(f"{LOOP} {{ {body} }}", STEPPED).remarks if x.id == "c-ring"]


@pytest.mark.parametrize("step", ["i++, k += at", "i++, k = at", "b[i] = at, i++", "i++, k = at++"])
def test_loops_are_not_cut_where_a_place_is_read_between_iterations(step: str) -> None:
    file = read(f"int k = 4; for (int i = 0; i < n; {step}) {{ b[i] = a[at] + k; if (++at == m) at = 0; }}", STEPPED)
    assert not [x for x in file.remarks if x.id == "c-ring"]


def test_remainders_by_numbers_stay_where_they_recur() -> None:
    assert subscripts(read(f"{LOOP} b[i] = a[(i + 1) % 4];")) == ["(i + 1) % 4"]
    assert subscripts(read("for (int i = 0; i < 8; i++) b[i] = a[i % 4];")) == ["i % 4"]


def test_unsigned_arms_count_only_where_they_are_chosen() -> None:
    rows = "for (size_t i = 0; i < n; i++) for (size_t j = 0; j < n; j++)"
    file = read(
        f"{rows} b[i * n + j] = a[(i == 0 ? n - 1 : i - 1) * n + j];", "size_t n, double *restrict a, double *b"
    )
    assert len(subscripts(file)) == 2
    file = read(
        f"{rows} b[i * n + j] = a[(i == 1 ? n - 1 : i - 1) * n + j];", "size_t n, double *a, double *b"
    )
    assert not file.functions[0].regions


def test_many_choices_in_a_row_are_read_as_data() -> None:
    counts = " ".join(f"if (i > {n}) k++;" for n in range(40))
    (region,) = read(f"{LOOP} {{ int k = 0; {counts} b[i] = a[i] * k; }}").functions[0].regions
    assert any(isinstance(x, Alloc) and x.array.name == "k" for x in walk(region.kernel.body))


def test_a_number_that_is_chosen_is_a_number() -> None:
    (region,) = read(f"{LOOP} {{ int s = i < m ? 1 : -1; b[i] = s * a[i]; }}").functions[0].regions
    stored = [x for x in walk(region.kernel.body) if isinstance(x, Assign)]
    assert not any(isinstance(x, If) for x in walk(region.kernel.body))
    assert any("select(i - m < 0, 1:i32, -1:i32)" in print_expr(x.value) for x in stored)


@pytest.mark.parametrize("type", ["size_t", "unsigned long", "ptrdiff_t"])
def test_offsets_of_addresses_go_around_with_these(type: str) -> None:
    """An offset of 64 bits that seems to lie below zero leads back: nothing is assumed of it, and the array begins
    there."""
    body = f"for ({type} i = 1; i < n; i++) b[i] = a[i * n - n] + *(a + (n + i - 2 * n)) + a[i - n + n];"
    file = read(body, f"{type} n, double *restrict a, double *restrict b")
    assert {"i * n", "i", "i + n"} == set(subscripts(file))
    assert assumed(file) <= {"n >= 0", "2 * n >= 0"}


def test_offsets_of_fewer_bits_are_to_be_seen_not_to_wrap() -> None:
    body = "for (unsigned i = 1; i < n; i++) b[i] = a[i - m];"
    file = read(body, "unsigned n, unsigned m, double *restrict a, double *restrict b")
    assert "1 - m >= 0" in assumed(file)


@pytest.mark.parametrize(
    "body",
    [
        f"int k = 0, l = 1; {LOOP} {{ b[i] = a[k]; int t = k; k = l; l = t; }}",
        f"int k = 0; {LOOP} {{ b[i] = a[k]; if (b[i] > 0) k = i; }}",
        f"int k = 0; {LOOP} {{ b[i] = a[k]; k = b[i]; }}",
        f"int k = 0; {LOOP} {{ b[i] = a[k]; k = i; }} b[0] = a[k];",
    ],
)
def test_what_no_earlier_iteration_tells_chooses_no_element(body: str) -> None:
    assert not read(body).functions[0].regions
