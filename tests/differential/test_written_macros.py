"""Functions and statements that come out of macros compute what they did, and macros of which it is not sure what they
stand for stay."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.frontend.c.text.lexer import tokenize
from planish.frontend.c.text.written_macros import hiding_invocations
from planish.options import Options
from planish.pipeline import build_file

TEXT = r"""#include <assert.h>
#include <stdint.h>
#define CLIP(x) ((x) < 0 ? 0 : (x) > 255 ? 255 : (x))
#define SAD( name, lx, ly )\
int name( const uint8_t *a, long p, const uint8_t *b, long q ) /* a comment */ \
{ int sum = 0; assert(a); \
    for( int y = 0; y < ly; y++, a += p, b += q ) \
        for( int x = 0; x < lx; x++ ) sum += a[x] > b[x] ? a[x] - b[x] : b[x] - a[x]; \
    return sum; }
SAD( sad_8x4,
     8, 4 )
#define ADD(T, op) \
static void T##_##op(int n, T *restrict y, const T *restrict x) { LOOP(i, n) y[i] = APPLY_##op(y[i], x[i]); }
#define LOOP(i, n) for (int i = 0; i < (n); i++)
#define APPLY_most(a, b) ((a) > (b) ? (a) : (b))
ADD(int, most);
#define BLEND(d, s, k) t = 256 - (k); for (i = 0; i < n; i++) d[i] = CLIP((d[i] * t + s[i] * (k)) >> 8); done += #k[0];
int blend(int n, uint8_t *restrict a, const uint8_t *restrict b, int k)
{
    int i, t, done = 0;
    BLEND(a, b,
          k)
    return done;
}
"""
MAIN = r"""
#include <stdio.h>
int main(void) {
    static uint8_t a[999], b[999]; static int x[99], y[99];
    for (int n = 0; n < 99; n += n < 40 ? 1 : 29) {
        for (int i = 0; i < 999; i++)
        { a[i] = i * 7 + n; b[i] = i * 13; x[i % 99] = i * 5 % 17; y[i % 99] = i * 3 % 19; }
        unsigned s = sad_8x4(a + n, n, b, 8 + n) + blend(n, a, b, n - 9);
        int_most(n, y, x);
        for (int i = 0; i < 99; i++) s = s * 31 + a[i] + y[i];
        printf("%u\n", s);
    }
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
def test_macros_that_hold_nests_are_written_out(tmp_path: Path) -> None:
    made = build_file(Source("m.c", TEXT), Options(measure=False))
    assert {x.function.name for x in made.functions if x.replacements} == {"sad_8x4", "int_most", "blend"}
    assert "CLIP((" in made.text and "assert(a)" in made.text  # other macros are the user's own
    printed = []
    for program in (TEXT, made.text):
        (tmp_path / "p.c").write_text(program + MAIN)
        command = ["gcc", "-O1", "-w", "-fsanitize=address,undefined", "p.c", "-o", "p"]
        subprocess.run(command, cwd=tmp_path, check=True)
        printed.append(subprocess.run([str(tmp_path / "p")], capture_output=True, text=True, check=True).stdout)
    assert printed[0] == printed[1]


@pytest.mark.parametrize(
    "text",
    [
        "#define F(n) g(n);\nF(3)\n",
        "#define F(n) do { g(n); } while (0)\nF(3)\n",
        "#define F(...) for (;;) g(__VA_ARGS__);\nF(3)\n",
        "#define F(n) for (;;) g(n);\n#undef F\nF(3)\n",
        "#ifdef A\n#define F(n) for (;;) g(n);\n#endif\nF(3)\n",
        "#ifdef A\n#define F(n) for (;;) g(n);\n#else\n#define F(n) while (n) g(n);\n#endif\nF(3)\n",
        "#define F(n) for (;;) g(n);\nF(3, 4)\nF\n",
        "#define F(n) for (;;) a##n;\nF()\n",
    ],
)
def test_macros_that_are_not_sure_stay(text: str) -> None:
    lines = frozenset(range(1, text.count("\n") + 1))
    assert not hiding_invocations(tokenize(text), lines)


def test_arguments_are_the_strings_that_they_were() -> None:
    define = "#define SHOW(e, n) for (i = 0; i < n; i++) LOG(e, -n); puts(#e)\n"
    tokens = tokenize(define + "SHOW(x[i]+1  * /* of */ y, -2)\n")
    (found,) = hiding_invocations(tokens, frozenset({1, 2}))
    assert found.text == 'for (i = 0; i < -2; i++) LOG(x[i]+1 * y, - -2); puts("x[i]+1 * y")'


def test_what_is_made_a_string_is_not_written_out() -> None:
    define = "#define TEXT(e) #e\n#define ALL for (i = 0; i < n; i++)\n#define SAY(e) ALL { e; puts(TEXT(ALL  b)); }\n"
    tokens = tokenize(define + "puts(TEXT(ALL a)); SAY(f())\n")
    (found,) = hiding_invocations(tokens, frozenset(range(1, 5)))
    assert "".join(found.text.split()) == "for(i=0;i<n;i++){f();puts(TEXT(ALLb));}"
