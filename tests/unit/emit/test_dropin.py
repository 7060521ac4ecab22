"""Drop-in files: what is outside of the patches stays, and what comes out compiles and runs."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest
from compiled import compile_text
from hypothesis import given
from hypothesis import strategies as st

from planish.emit.dropin.patched_file import (
    Patch,
    alias_guard,
    assemble,
    defined_macros,
    emit_banner,
    emit_guard,
    guarded_call,
    prologue_offset,
)
from planish.ir.text.parser import parse_expr

SOURCE = """\
#define _GNU_SOURCE
#include <stdlib.h>
#ifdef FAST
#include <math.h>
#endif
/* #include <not this> */
int after;

void scale(int n, double *x, double *y)
{
  int i; // "quote
  for (i = 0; i < n; i++)
    x[i] = 2 * y[i]; /* kept */
  after = i;
}
"""
NEST = "for (i = 0; i < n; i++)\n    x[i] = 2 * y[i];"
PROLOGUE = """\
#include <stdint.h>
static int fast(int n, double *x, double *y)
{
  (void)n;
  x[0] = -y[0];
  return 0;
}
"""


def patched(guards: list[str], returns_status: bool) -> str:
    start = SOURCE.index(NEST)
    call = guarded_call(NEST, "  ", "fast", ["n", "x", "y"], guards, ["i = n > 0 ? n : 0"], returns_status)
    return assemble(SOURCE, [Patch(start, start + len(NEST), call)], "/* banner */\n", PROLOGUE)


@pytest.mark.parametrize("guards", [[], ["n >= 1"], ["n >= 1", "n < 100 || n > 200"]])
@pytest.mark.parametrize("returns_status", [False, True])
def test_the_patched_file_runs_the_replacement(guards: list[str], returns_status: bool, tmp_path: Path) -> None:
    text = patched(guards, returns_status)
    library = compile_text(text, tmp_path)
    pair = (ctypes.c_double * 2)(1.0, 3.0)
    other = (ctypes.c_double * 2)(1.0, 3.0)
    library.scale(2, pair, other)
    assert list(pair) == [-1.0, 3.0]
    assert ctypes.c_int.in_dll(library, "after").value == 2
    assert text.startswith("/* banner */\n#define _GNU_SOURCE\n")
    assert "x[i] = 2 * y[i]; /* kept */" in text or NEST in text
    assert not re.search(r"[ \t]+$", text, re.MULTILINE)


def test_a_guard_that_fails_runs_the_original(tmp_path: Path) -> None:
    library = compile_text(patched(["n >= 100"], True), tmp_path)
    pair = (ctypes.c_double * 2)()
    library.scale(2, pair, (ctypes.c_double * 2)(1.0, 3.0))
    assert list(pair) == [2.0, 6.0]


def test_the_original_can_be_had_back(tmp_path: Path) -> None:
    library = compile_text(patched([], False), tmp_path, flags=("-DPLANISH_ORIGINAL", "-Wno-unused-function"))
    pair = (ctypes.c_double * 2)()
    library.scale(2, pair, (ctypes.c_double * 2)(1.0, 3.0))
    assert list(pair) == [2.0, 6.0]


def test_the_prologue_follows_the_last_include_outside_of_conditionals() -> None:
    place = prologue_offset(SOURCE, SOURCE.index("for ("))
    assert SOURCE[:place].endswith("#include <math.h>\n#endif\n")
    assert SOURCE[place:].startswith("/* #include <not")


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("int x; for", ""),
        ('#include "a.h"\nvoid f() {\n#include "body.h"\nfor', '#include "a.h"\n'),
        ('#ifndef G\n#define G\n#include "a.h"\nint x;\nfor', '#ifndef G\n#define G\n#include "a.h"\n'),
        ('#if A\n#include "a.h"\n#else\nint y; for', '#if A\n#include "a.h"\n#else\n'),
        ('#if A\n#if B\n#include "a"\n#endif\n#endif\n;for', '#if A\n#if B\n#include "a"\n#endif\n#endif\n'),
        ('char *s = "/*"; \n#include "a.h"\n/*\n#include "b.h"\n*/ for', 'char *s = "/*"; \n#include "a.h"\n'),
        ('#define M(x) \\\n {\n#include "a.h"\nfor', '#define M(x) \\\n {\n#include "a.h"\n'),
    ],
)
def test_places_of_the_prologue(text: str, head: str) -> None:
    assert text[: prologue_offset(text, text.index("for"))] == head


@given(st.text(alphabet="ab{}\n \"'/*#if", max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_everything_outside_of_the_patches_stays(text: str, marks: list[int]) -> None:
    cuts = sorted(min(x, len(text)) for x in marks[: len(marks) // 2 * 2])
    patches = [Patch(a, b, "@") for a, b in zip(cuts[::2], cuts[1::2], strict=True)]
    out = assemble(text, patches, "<", ">")
    wanted = text
    for patch in reversed(patches):
        wanted = wanted[: patch.start] + "@" + wanted[patch.end :]
    # The prologue brings its own line breaks.
    left = out.removeprefix("<").replace(">", "", 1) if patches else out.removeprefix("<")
    assert left.replace("\n", "") == wanted.replace("\n", "")


@pytest.mark.parametrize("patches", [[Patch(0, 5, ""), Patch(4, 6, "")], [Patch(3, 2, "")], [Patch(0, 99, "")]])
def test_patches_that_overlap_are_a_bug(patches: list[Patch]) -> None:
    with pytest.raises(ValueError, match="overlaps"):
        assemble("0123456789", patches, "", "")


def test_guards_widen_the_sizes() -> None:
    assert emit_guard(parse_expr("n - 1 >= m && n < 10")) == "(int64_t)n - 1 >= (int64_t)m && (int64_t)n < 10"
    assert emit_guard(parse_expr("n >= 1"), {"n": "p->n"}) == "(int64_t)(p->n) >= 1"
    assert emit_guard(parse_expr("n % 4 == 0")) == "(int64_t)n % 4 == 0"


@pytest.mark.parametrize(("p", "q", "apart"), [(0, 4, 1), (0, 3, 0), (4, 0, 1), (2, 0, 0), (0, 0, 0)])
def test_alias_guards(p: int, q: int, apart: int, tmp_path: Path) -> None:
    test = alias_guard(("p", "4"), ("q", "sizeof(int)"))
    text = f"#include <stdint.h>\nint apart(char *p, char *q) {{ return {test}; }}\n"
    library = compile_text(text, tmp_path)
    memory = ctypes.addressof(ctypes.create_string_buffer(16))
    assert library.apart(ctypes.c_void_p(memory + p), ctypes.c_void_p(memory + q)) == apart


def test_macros_are_found() -> None:
    assert defined_macros("#define N 4\n  # define M(x) x\nint N2;") == {"N", "M"}


def test_the_banner_is_one_comment() -> None:
    banner = emit_banner("0.1", "--fp strict */ evil", "int x;", "gcc -O3")
    assert banner.count("*/") == 1
    assert "belongs to you" in banner
    assert "2d6e9c5d" in banner or re.search(r"sha256 [0-9a-f]{64}", banner)


def test_what_follows_a_directive_on_its_line_is_kept() -> None:
    text = "int f(int n) { for (;;) work(); return n; }\n"
    start, end = text.index("for"), text.index(" return")
    call = guarded_call(text[start:end], "", "f_0", ["n"], [], [], returns_status=False)
    out = assemble(text, [Patch(start, end, call)], "", "")
    assert "#endif\n return n; }\n" in out
