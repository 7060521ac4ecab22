"""A file is read as the compiler reads it, whichever headers make its macros; what differs in truth is told."""

import shlex
import shutil
from pathlib import Path

import pytest

from planish.core.span import Source, TextChange, rewrite
from planish.emit.dropin.patched_file import Patch
from planish.frontend.c.text.preprocess import DIALECT, preprocess
from planish.wrapper.line_markers import with_lines
from planish.wrapper.preprocessing import changed_macros, predefined_macros, preprocess_by
from planish.wrapper.seen_alike import same_function, same_outside

TEXT = """\
#include <assert.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
unsigned most = UINT_MAX;
double f(int n, const double *a)
{
    double least = DBL_MAX; float e = FLT_EPSILON;
    assert(n > 0 && "some; all");
    if (isnan(a[0]) || n == INT_MIN || n > UCHAR_MAX) errno = EINVAL;
    if (a[1] > FLT_MAX || !isfinite(least)) return HUGE_VAL;
    for (int64_t i = 0; i < INT64_MAX && i < UINT32_MAX; i++) e += (uint8_t)(UINT8_MAX - 1);
    return e + SHRT_MIN + LLONG_MIN + (DBL_MIN > DBL_EPSILON);
}
"""
COMPILERS = ("gcc -O2", "gcc -std=c99", "gcc -DNDEBUG -march=native", "clang-19 -O3", "clang-19 -std=c11")


@pytest.mark.parametrize("command", [x for x in COMPILERS if shutil.which(x.split()[0])])
def test_macros_of_the_library_are_alike(command: str, tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(TEXT)
    compiler, *flags = shlex.split(command)
    macros = changed_macros(predefined_macros("gcc", ()), predefined_macros(compiler, flags))
    ours = preprocess(Source(str(path), TEXT), macros).text
    theirs = preprocess_by(compiler, flags, str(path), DIALECT)
    assert same_function(ours, theirs, str(path), 9, 17) and same_outside(ours, theirs, str(path), [("f", 9, 17)])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.0", "1.0f"), ("4294967295", "0xffffffff"), ("3.4028235e38f", "3.4028232e38f"), ("f(1)", "f((-1))"),
        ("(127 * 2 + 1)", "(127 * 2 + 1U)"), ("1e400", "1e401"), ("0.1L", "0.1"), ("(2147483647 + 1)", "2147483648"),
        ("((double)0.1L)", "((double)0.1)"), ("9223372036854775808U", "9223372036854775807"), ("017", "17"),
        ('"ab"', '"a" "c"'), ("-5 - 1", "-(5 - 1)"), ("((x) ? (void)(0) : fail(1))", "((void)sizeof(!(x)))"),
    ],
)  # fmt: skip
def test_what_means_something_else_is_not_alike(one: str, other: str) -> None:
    a, b = (f'# 1 "a.c"\nx = {x};\n' for x in (one, other))
    assert same_function(a, a, "a.c", 1, 1) and not same_function(a, b, "a.c", 1, 1)


def test_lines_behind_a_rewritten_loop_are_the_users() -> None:
    before = "void f(void)\n{\n  LOOP(a,\n    b)\n  last();\n}\n"
    start, end = before.index("LOOP"), before.index("\n  last")
    text = before[:start] + "for (;;) { a;\n b; }" + before[end:]
    change = TextChange(start, end, start, text.index("\n  last"), (start, end), True)
    source = rewrite(Source("a.c", before), text, [change])
    patch = Patch(start, text.index("\n  last"), "if (1)\n  g();")
    lines = with_lines(source, [patch], "static int g(void);\n").split("\n")
    place = lines.index("  last();")
    assert lines[place - 2 : place] == ['#line 4 "a.c"', ""]
