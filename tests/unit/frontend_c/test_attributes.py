"""Types that attributes make others than they read are not taken for what they read."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c

NEST = "void f(int n, {} *a) {{ for (int i = 0; i < n; i++) a[i] = 0; }}\n"


@pytest.mark.parametrize(
    ("declared", "name", "known"),
    [
        ("enum __attribute__((packed)) mode { OFF, ON };", "enum mode", False),
        ("enum mode { OFF,\n ON\n} __attribute__((__packed__));", "enum mode", False),
        ("typedef enum { OFF, ON } __attribute__((packed)) mode;", "mode", False),
        ("#define SMALL __attribute__((packed))\nenum SMALL mode { OFF, ON };", "enum mode", False),
        ("typedef float four __attribute__((vector_size(16)));", "four", False),
        ("typedef int small __attribute__((mode(QI)));", "small", False),
        ("enum mode { OFF, ON };", "enum mode", True),
        ("typedef float many __attribute__((aligned(4)));", "many", True),
        ("struct __attribute__((packed)) s { int packed; };\n\ntypedef int mode;", "mode", True),
    ],
)
def test_types_with_attributes(declared: str, name: str, known: bool) -> None:
    file = read_c(Source("f.c", f"{declared}\n{NEST.format(name)}"))
    assert bool(file.function("f").regions) == known
