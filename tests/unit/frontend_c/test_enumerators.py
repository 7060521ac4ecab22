"""Enumerators that functions define for themselves: which one a name means, and what it is."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile, RecordParameter
from planish.ir.text.printer import print_kernel

FILE = "enum { A = 1, B = 2, C = A + B, D = -1 };\n"


def read(body: str, types: str = "") -> CFile:
    return read_c(Source("f.c", f"{FILE}{types}void f(int n, int *x) {{ {body} }}"))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("for (int i = 0; i < n; i++) x[i] = B;", "2"),
        ("enum { A = 5 }; { enum { B = A + 1 }; for (int i = 0; i < n; i++) x[i] = B; }", "6"),
        ("enum { A = 5 }; { enum { E, B = A * E + C }; for (int i = 0; i < n; i++) x[i] = B; }", "3"),
        ("enum { A = 5 }; for (int i = 0; i < n; i++) { enum { B = A, F }; x[i] = F; }", "6"),
        ("{ enum { B = 9 }; x[0] = B; } for (int i = 0; i < n; i++) x[i] = B;", "2"),
        ("int A = 7; { enum { E = B }; for (int i = 0; i < n; i++) x[i] = E; }", "2"),
        ("enum { B = sizeof(double), G }; for (int i = 0; i < n; i++) x[i] = G;", "9"),
    ],
)
def test_values_are_those_of_the_innermost_block(body: str, wanted: str) -> None:
    kernels = [x.kernel for x in read(body).functions[0].regions]
    assert f"x[i] = {wanted}" in print_kernel(kernels[-1])


@pytest.mark.parametrize(
    "body",
    [
        "enum { B = sizeof(void *) }; for (int i = 0; i < n; i++) x[B * i] = 1;",
        "enum { B = sizeof(void *) }; for (int i = 0; i < n; i++) x[i] = B;",
        "enum { B = sizeof(void *) }; for (int i = 0; i < B; i++) x[i] = 1;",
        "enum { E = sizeof(void *), B }; { for (int i = 0; i < n; i++) x[i + B] = 1; }",
        "int A = x[0]; { enum { B = A }; for (int i = 0; i < n; i++) x[i + B] = 1; }",
        "struct { enum { B = sizeof(void *) } kind; } s; for (int i = 0; i < n; i++) x[i] = B;",
    ],
)
def test_what_is_not_known_hides_what_is(body: str) -> None:
    file = read(body)
    assert not file.functions[0].regions
    assert any("an enumerator whose value is not known" in x.message for x in file.remarks)


def test_variables_hide_enumerators_in_steps() -> None:
    nest = "for (int i = 0; i < n; i += 2 * h) for (int j = i; j < i + h; j++) { x[j + h] -= x[j]; x[j] += x[j + h]; }"
    (known,) = read(f"for (int h = 1; h < n; h *= B) {{ {nest} }}").functions[0].regions
    assert known.stages
    (hidden,) = read(f"int B = x[0]; for (int h = 1; h < n; h *= B) {{ {nest} }}").functions[0].regions
    assert not hidden.stages


def test_bit_fields_may_be_as_wide_as_enumerators() -> None:
    text = f"{FILE}struct s {{ int n : C; int m : sizeof(int); }}; void f(struct s *p) {{ p->n = p->m; }}"
    form = read_c(Source("f.c", text)).functions[0].parameters[0].form
    assert isinstance(form, RecordParameter)
    assert [x.path for x in form.cells] == ["n", "m"]
