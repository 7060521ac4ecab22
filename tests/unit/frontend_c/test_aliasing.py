"""What a store through a pointer may change is read from memory each time, or the nest stays as written."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile

OTHERS = "int *seen(void) { return &shown; } int masked(int x) { return x && own; } char *see(float **);"
GLOBALS = "int s; float r; long w; static int own, shown; static float *mine; float *g; unsigned char *bytes; " + OTHERS
BODY = "for (int i = 0; i < n; i++) c[i] = (i & 7) + {};"


def read(parameter: str, value: str, more: str = "") -> CFile:
    body = BODY.replace("{}", value)
    return read_c(Source("f.c", f"{GLOBALS} typedef unsigned char byte; void f(int n, {parameter}) {{ {more}{body} }}"))


@pytest.mark.parametrize(
    ("parameter", "value", "memory"),
    [
        ("char *c", "s", True),
        ("byte *c", "r", True),
        ("signed char *c", "w", True),
        ("byte c[n]", "shown", True),
        ("unsigned *c", "s", True),
        ("unsigned long *c", "w", True),
        ("byte *c", "own", False),
        ("byte *restrict c", "s", False),
        ("long long *c", "w", False),
        ("float *c", "s", False),
        ("_Bool *c", "s", False),
    ],
)
def test_numbers(parameter: str, value: str, memory: bool) -> None:
    (region,) = read(parameter, value).functions[-1].regions
    kernel = region.kernel
    assert {x.name for x in kernel.arrays} == ({"c", value} if memory else {"c"})
    assert value not in kernel.sizes or not memory


@pytest.mark.parametrize(
    ("parameter", "value", "more", "told"),
    [
        ("char *c", "g[i]", "", "g may be changed by a store of characters through c"),
        ("int m", "bytes[i + 1]", "unsigned char *c = bytes; ", "bytes may be changed"),
        ("float *p", "p[i]", "char *c = see(&p); ", "p may be changed"),
        ("char *c", "mine[i]", "", ""),
        ("char *c", "own_g[i]", "float *own_g = g; ", ""),
        ("float *c", "g[i]", "", ""),
        ("char *restrict c", "g[i]", "", ""),
        ("char *c, const float *p", "p[i]", "", ""),
    ],
)
def test_pointers(parameter: str, value: str, more: str, told: str) -> None:
    file = read(parameter, value, more)
    assert bool(file.functions[-1].regions) is not bool(told)
    assert told in " ".join(x.message for x in file.remarks)


def test_a_bound_that_may_change_is_told() -> None:
    file = read_c(Source("f.c", "int n; void f(char *c) { for (int i = 0; i < n; i++) c[i] = 0; }"))
    assert "n, which is computed from data, or may be changed by a store" in file.remarks[-1].message
