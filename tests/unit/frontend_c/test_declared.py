"""The types of C as the user declared them: which of them are the same to C, and what enumerations are."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile
from planish.ir.types import I32, I64, U8, U32, Type

HEAD = "#include <stddef.h>\n#include <stdint.h>\n"
LOOP = "for (int i = 0; i < n; i++) a[i] = a[i] / 2;"


def read(declared: str, type: str, body: str = LOOP) -> CFile:
    return read_c(Source("f.c", f"{HEAD}{declared}\nvoid f(int n, {type} *a) {{ {body} }}\n"))


@pytest.mark.parametrize(
    ("declared", "type", "spelling"),
    [
        ("", "long unsigned int", "unsigned long"),
        ("", "unsigned", "unsigned int"),
        ("", "signed long int long", "long long"),
        ("", "char", "char"),
        ("", "signed char", "signed char"),
        ("", "const size_t", "size_t"),
        ("typedef size_t count; typedef count counts;", "counts", "size_t"),
        ("typedef long long wide;", "wide", "long long"),
        ("typedef unsigned long own_t;", "own_t", "unsigned long"),
    ],
)
def test_arrays_have_the_declared_type(declared: str, type: str, spelling: str) -> None:
    if type.startswith("const"):
        file = read(declared, type, "static size_t b[9]; for (int i = 0; i < n; i++) b[i] = a[i];")
    else:
        file = read(declared, type)
    (region,) = file.functions[0].regions
    assert dict(region.declared)["a"] == spelling


@pytest.mark.parametrize(
    ("declared", "type", "wanted", "spelling"),
    [
        ("enum e { A, B };", "enum e", U32, "unsigned int"),
        ("enum e { A = -1, B };", "enum e", I32, "int"),
        ("enum e { A = 0xffffffff };", "enum e", U32, "unsigned int"),
        ("enum e { A = -1, B = 0xffffffff };", "enum e", I64, "long"),
        ("typedef enum { A, B = A | 4 } e;", "e", U32, "unsigned int"),
        ("struct s { enum e { A = 'x', B = -A } kind; };", "enum e", I32, "int"),
        ("enum e { A = sizeof(int), B = sizeof(double) * A };", "enum e", U32, "unsigned int"),
    ],
)
def test_enumerations_are_what_compilers_take_for_them(declared: str, type: str, wanted: Type, spelling: str) -> None:
    (region,) = read(declared, type).functions[0].regions
    assert region.kernel.array("a").type == wanted
    assert dict(region.declared)["a"] == spelling


def test_enumerations_in_functions() -> None:
    body = "enum e { A, B = 3 }; enum e b[9]; for (int i = 0; i < n; i++) b[i] = A; "
    body += "for (int i = 0; i < n; i++) a[i] = b[i] == B;"
    (region,) = read("", "int", body).functions[0].regions
    assert {x.type for x in region.kernel.arrays} == {I32, U32}


@pytest.mark.parametrize(
    "declared",
    ["enum e { A = sizeof(void *) };", "enum e { A = sizeof(int) - 5 };", "enum e { A = 1 << 31 };", "enum e;"],
)
def test_enumerations_of_unknown_values_are_refused(declared: str) -> None:
    file = read(declared, "enum e")
    assert not file.functions[0].regions
    assert any(x.id == "scop-type" for x in file.remarks)


def test_enumerators_beyond_int_are_refused() -> None:
    file = read("enum e { A = 0x90000000 };", "long", "for (int i = 0; i < n; i++) a[i] = A;")
    assert any("is an enumerator that an int does not hold" in x.message for x in file.remarks)


@pytest.mark.parametrize(
    ("type", "pointed", "recast"),
    [
        ("long", "long long", True),
        ("int64_t", "long", False),
        ("size_t", "unsigned long", False),
        ("size_t", "uint64_t", False),
        ("char", "signed char", False),
        ("unsigned char", "uint8_t", False),
    ],
)
def test_pointers_to_another_type_are_other_arrays(type: str, pointed: str, recast: bool) -> None:
    body = f"for (int i = 0; i < n; i++) (({pointed} *)a)[i] = (({pointed} *)a)[i] / 2;"
    file = read("", type, body)
    (region,) = file.functions[0].regions
    assert bool(region.recast) == recast


def test_members_of_structures_are_no_variables() -> None:
    body = "struct { int n; } held; held.n = 3; for (int i = 0; i < n; i++) a[i] = 1;"
    (region,) = read("", "int", body).functions[0].regions
    assert region.kernel.sizes == ("n",)


def test_a_plain_char_without_a_sign() -> None:
    text = f"void f(int n, char *a) {{ {LOOP} }}\n"
    (region,) = read_c(Source("f.c", text), defines=("__CHAR_UNSIGNED__=1",)).functions[0].regions
    assert (region.kernel.array("a").type, dict(region.declared)["a"]) == (U8, "char")
