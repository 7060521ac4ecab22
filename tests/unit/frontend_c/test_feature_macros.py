"""Functions that are something else under other flags stay as written; all others do not."""

from __future__ import annotations

from pathlib import Path

from planish.build.read import read_file
from planish.core.span import Source
from planish.options import Options

LOOP = "for (int i = 0; i < n; i++) b[i] = a[i]"
HEADER = """\
#if defined(__AVX512F__)
#define WIDTH 16
#elif defined(__AVX2__) && defined(__FMA__)
#define WIDTH 8
#else
#define WIDTH 4
#endif
#ifdef __CHAR_UNSIGNED__
typedef unsigned short cell;
#else
typedef short cell;
#endif
struct box { int x; };
static const int table[2] = {WIDTH, 1};
static const int other[2] = {1, 2};
enum { FIRST = 1, LAST = WIDTH };
static inline float half(int width) { return width * 0.5f; }
static inline float scaled(float x) { return x * WIDTH; }
"""
FUNCTIONS = {
    "by_macro": f"(int n, const float *a, float *b) {{ {LOOP} * WIDTH; }}",
    "by_type": f"(int n, const cell *a, int *b) {{ {LOOP} >> 1; }}",
    "by_table": f"(int n, const int *a, int *b) {{ {LOOP} + table[0]; }}",
    "by_number": f"(int n, const int *a, int *b) {{ {LOOP} + LAST; }}",
    "by_call": f"(int n, const float *a, float *b) {{ {LOOP} * scaled(2); }}",
    "by_text": f"(int n, const int *a, int *b) {{\nint k = 2;\n#ifdef __OPTIMIZE__\nk = 3;\n#endif\n{LOOP} + k;\n}}",
    "steady": f"(int n, const float *a, float *b) {{ {LOOP} * half(3) + other[1]; }}",
    "aside": f"(int n, const int *a, int *b) {{\n#ifdef __AVX2__\nb[0] = n;\n#else\n{LOOP};\n#endif\n}}",
    "by_own": f"(int n, const int *a, int *b) {{\n#ifdef OWN\n{LOOP};\n#else\n{LOOP} + 1;\n#endif\n}}",
}  # fmt: skip


def test_what_flags_decide_stays_as_written(tmp_path: Path) -> None:
    (tmp_path / "cells.h").write_text(HEADER)
    text = '#include "cells.h"\n' + "".join(f"void {name}{rest}\n" for name, rest in FUNCTIONS.items())
    source = Source(str(tmp_path / "f.c"), text)
    file = read_file(source, Options(target="generic"))
    assert [x.name for x in file.functions if x.regions] == ["steady", "aside", "by_own"]
    told = {x.message.split("`")[1]: x.message for x in file.remarks if x.id == "scop-flags"}
    assert [*told] == [x for x in FUNCTIONS if x.startswith("by_") and x != "by_own"]
    assert "depends on __CHAR_UNSIGNED__," in told["by_type"] and "depends on __OPTIMIZE__," in told["by_text"]
    known = read_file(source, Options(target="generic", defines=("__OPTIMIZE__",)))
    assert "by_text" in [x.name for x in known.functions if x.regions]
