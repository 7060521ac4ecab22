"""Elements that are read as those of another type are arrays of their own, where these lie in rows."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c


@pytest.mark.parametrize(
    ("element", "access", "passed"),
    [
        ("unsigned char", "*(unsigned *)&d[8 + 4 * i]", "((unsigned int *)d)"),
        ("unsigned char", "((unsigned short *)(d + 3))[i]", "((unsigned short *)((char *)d + 1))"),
        ("float", "((unsigned *)d)[i]", "((unsigned int *)d)"),
        ("double", "((float *)d)[2 * i + 1]", "((float *)d)"),
        ("unsigned", "((unsigned char *)d)[i]", "((unsigned char *)d)"),
    ],
)
def test_elements_of_another_type_are_an_array(element: str, access: str, passed: str) -> None:
    text = f"void f(int n, {element} *d) {{ for (int i = 0; i < n; i++) {access} += 1; }}"
    (region,) = read_c(Source("f.c", text)).functions[0].regions
    assert passed in {x for _, x in region.names}
    assert [(x.text, x.size) for x in region.recast] == [("d", region.recast[0].size)]


@pytest.mark.parametrize("kind", ["unsigned char", "unsigned"])
def test_a_view_is_no_address_that_a_store_of_characters_changes(kind: str) -> None:
    access = "*(unsigned *)&d[4 * i]" if kind == "unsigned char" else "((unsigned short *)d)[i]"
    text = f"void f(int n, const {kind} *d, unsigned char *o) {{ for (int i = 0; i < n; i++) o[i] = {access}; }}"
    (region,) = read_c(Source("f.c", text)).functions[0].regions
    assert len(region.recast) == 1 and not region.held


@pytest.mark.parametrize("access", ["*(unsigned *)(d + i)", "*(unsigned *)(d + k)", "*(struct s **)(d + 8 * i)"])
def test_elements_between_those_of_another_type_are_none(access: str) -> None:
    text = f"struct s; void f(int n, int k, char *d) {{ for (int i = 0; i < n; i++) {access} = 0; }}"
    assert not read_c(Source("f.c", text)).functions[0].regions
