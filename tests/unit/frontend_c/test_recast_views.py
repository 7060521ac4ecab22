"""Elements that are read as those of another type are arrays of their own, where these lie in rows."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import RecordParameter


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


@pytest.mark.parametrize(
    ("given", "access"),
    [
        ("struct whole *d", "((struct part *)d->content)->x[i]"),
        ("struct whole *d", "((part *)d->content)->x[i]"),
        ("void *d", "((part *)d)->x[i]"),
        ("struct head *d", "((struct part *)d)->x[i]"),
        ("struct whole *d", "((float *)d->content)[i]"),
    ],
)
def test_what_an_address_without_a_type_leads_to_is_a_structure(given: str, access: str) -> None:
    types = "struct head { int n; }; struct whole { void *content; }; typedef struct part { int n; float *x; } part;"
    text = f"{types} void f(int n, {given}) {{ for (int i = 0; i < n; i++) {access} += 1; }}"
    (function,) = read_c(Source("f.c", text)).functions
    (region,) = function.regions
    form = function.parameters[1].form
    assert isinstance(form, RecordParameter)
    known = {x.within("d", "->") for x in form.cells}
    passed = dict(region.names)[region.kernel.arrays[0].name]
    own = passed.replace("((part *)d)", "d").replace("((struct part *)d)", "d")
    assert {own, *(x.text for x in region.recast)} & known


def test_characters_stored_over_the_address_of_a_structure_are_asked_for() -> None:
    types = "struct whole { void *content; }; struct part { char *x; };"
    loop = "for (int i = 0; i < n; i++) ((struct part *)d->content)->x[i] = 1;"
    (region,) = read_c(Source("f.c", f"{types} void f(int n, struct whole *d) {{ {loop} }}")).functions[0].regions
    assert {x.address for x in region.held} == {"&d->content", "&((struct part *)d->content)->x"}


@pytest.mark.parametrize("body", ["d = d->next", "d->content = 0"])
def test_addresses_of_structures_that_the_loop_changes_are_none(body: str) -> None:
    types = "struct whole { struct whole *next; void *content; }; struct part { int n; float *x; };"
    loop = f"for (int i = 0; i < n; i++) {{ ((struct part *)d->content)->x[i] += 1; {body}; }}"
    assert not read_c(Source("f.c", f"{types} void f(int n, struct whole *d) {{ {loop} }}")).functions[0].regions
