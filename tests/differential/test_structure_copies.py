"""Structures that are copied as a whole, to and from memory and variables of a nest, leave what they did."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

TYPES = """#include <stddef.h>
typedef struct { float r, i; } pair;
typedef struct { double x, y; int kind; } body;
struct pixel { unsigned char r, g, b, a; };
struct box { struct { int x, y; } low, high; };
struct grid { int stride, *cell; };
"""
TAKEN = {
    "walked": "void walked(int n, struct pixel *restrict d, const struct pixel *s, unsigned char k)"
    "{ while (n-- > 0) { struct pixel p = *s++; p.a = p.a + k; p.r = p.b; *d++ = p; } }",
    "turned": "void turned(int n, pair *restrict o, const pair *restrict a, const pair *restrict w)"
    "{ for (int i = 0; i < n; i++) { pair t, u = a[i]; t.r = u.r * w[i].r - u.i * w[i].i;"
    "t.i = u.r * w[i].i + u.i * w[i].r; o[i] = t; } }",
    "moved": "void moved(int n, struct box *b, int k) { for (int i = 0; i < n; i++)"
    "{ struct box t = b[i]; t.high.x += k; t.low = t.high; b[i] = t; } }",
    "mixed": "void mixed(int n, body *b) { for (int i = 0; i < n; i++)"
    "{ body t = b[i]; t.kind ^= 5; t.x = t.y + t.kind; b[i] = t; } }",
    "skipped": "int skipped(int n, const body *b)"
    "{ int k = 0; while (n--) { const body t = *b++; k ^= t.kind; } return k; }",
    "given": "static float dot(pair a, const pair b) { a.r *= 2; return a.r * b.r - a.i * b.i; }"
    "static int place(struct grid g, int y, int x) { return y * g.stride + x; }"
    "static int at(struct grid g, int y, int x) { return g.cell[place(g, y, x)]; }"
    "void given(int n, float *restrict o, const pair *a, pair w)"
    "{ for (int i = 0; i < n; i++) o[i] = dot(a[i], w) + dot(w, a[i]); }",
    "grids": "void grids(struct grid g, struct grid from) { for (int y = 0; y < 3; y++)"
    "for (int x = 0; x < g.stride; x++) g.cell[place(g, y, x)] = at(from, y, x) ^ y; }",
}  # fmt: skip
LEFT = {
    "whole": "void whole(int n, body *restrict d, const body *restrict s) { for (int i = 0; i < n; i++) d[i] = s[i]; }",
    "chained": "void chained(int n, struct box *b)"
    "{ for (int i = 0; i < n; i++) b[b[i].low.x & 63] = b[(b[i].high.y + i) & 63]; }",
    "union_": "void union_(int n, union { int i; float f; } *d) { for (int i = 1; i < n; i++) d[i] = d[i - 1]; }",
}  # fmt: skip
MAIN = """
#include <stdio.h>
#include <string.h>
static int x[1600], y[1600], z[1600];
static void fill(void) { for (int i = 0; i < 1600; i++)
    { x[i] = i * 37 % 101; y[i] = 0x3f800000 + i * 7919; z[i] = y[i] ^ 77; } }
static void tell(const char *name, double v) { unsigned s = 0;
    for (int i = 0; i < 1600; i++) s = s * 31 + (unsigned)x[i] * 7 + (unsigned)y[i] * 3 + (unsigned)z[i];
    printf("%s %u %g\\n", name, s, v); }
int main(void) {
    for (int n = 0; n < 64; n += n < 36 ? 1 : 27) {
        fill(); walked(n, (struct pixel *)x, (struct pixel *)y, (unsigned char)n); tell("walked", 0);
        fill(); turned(n, (pair *)x, (pair *)y, (pair *)z); tell("turned", 0);
        fill(); moved(n, (struct box *)x, n); tell("moved", 0);
        fill(); mixed(n, (body *)z); for (int i = 5; i < 1600; i += 6) z[i] = 0; tell("mixed", 0);
        fill(); tell("skipped", skipped(n, (body *)z));
        fill(); given(n, (float *)x, (pair *)y, *(pair *)z); tell("given", 0);
        fill(); grids((struct grid){ n, x }, (struct grid){ n + 1, y }); tell("grids", 0);
        fill(); whole(n, (body *)x, (body *)z); for (int i = 5; i < 1600; i += 6) x[i] = 0; tell("whole", 0);
        fill(); chained(n, (struct box *)x); tell("chained", 0);
        fill(); union_(n, (void *)x); tell("union", 0);
    }
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
def test_copies_are_those_of_the_original(tmp_path: Path) -> None:
    text = TYPES + "\n".join((*TAKEN.values(), *LEFT.values()))
    made = build_file(Source("s.c", text), Options(measure=False, fp="strict"))
    taken = {x.function.name for x in made.functions if x.replacements}
    assert taken == {*TAKEN}, taken
    printed = []
    for program in (text, made.text):
        (tmp_path / "p.c").write_text(program + MAIN)
        command = ["gcc", "-O1", "-w", "-fno-strict-aliasing", "-fsanitize=address,undefined", "p.c", "-o", "p"]
        subprocess.run(command, cwd=tmp_path, check=True)
        done = subprocess.run([str(tmp_path / "p")], capture_output=True, text=True, check=True)
        assert "runtime error" not in done.stderr, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]
