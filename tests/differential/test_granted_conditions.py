"""Nests with branches that are seldom reached, checks of addresses, and untyped addresses do what they did, also where
those branches are reached."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

HEAD = """#include <assert.h>
#include <stddef.h>
#include <stdint.h>
void note(int code);
struct options { int debug; double scale; };
static int verbose;
"""
TAKEN = {
    "limited": "int limited(int n, int most, short *restrict y, const short *restrict x)"
    "{ int bad = 0; for (int i = 0; i < n; i++) { if (i >= most) { note(i); bad = 1; } y[i] = x[i] + 3; }"
    "return bad; }",
    "optional": "float optional(int n, const float *x, float *w, const struct options *o) { float s = 0;"
    "for (int i = 0; i < n; i++) { assert(n > 0); if (o->debug > 2) { note(3); return s; }"
    "if (w != NULL) w[i] = x[i] * 2; else s += x[i]; } return s; }",
    "spread": "void spread(int n, int rows, float *restrict a, const float *restrict b) {"
    "for (int r = 0; r < rows; r++) { if (verbose) { note(r); goto done; } else if (n > 150) note(n);"
    "for (int i = 0; i < n; i++) a[r * n + i] = b[i] * r; } done:; }",
    "swapped": "void swapped(int n, unsigned char *row) { unsigned char *from, *to; int i;"
    "for (i = 0, from = to = row; i < n; i++)"
    "{ unsigned char first = *from++; *to++ = *from++; *to++ = first; } }",
    "planar": "void planar(int n, int left, short *restrict y, const short *a, const short *b)"
    "{ for (int i = 0; i < n; i++) { const short *p = left ? a : b; y[i] = p[i] / 2; } }",
    "product": "static float dot(const void *x, const void *y, int n)"
    "{ const float *a = x, *b = (const float *)y; float s = 0;"
    "for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }"
    "void product(int n, float *restrict y, const float *restrict A, const float *restrict x)"
    "{ for (int i = 0; i < n; i++) y[i] = dot(A + i * n, x, n); }",
    "untyped": "void untyped(void *to, const void *from, size_t n, int wide) {"
    "if (wide) { uint32_t *d = to; const uint32_t *s = from; for (size_t i = 0; i < n; i++) d[i] = s[i] ^ 3; }"
    "else { uint8_t *d = to; const uint8_t *s = from; for (size_t i = 0; i < n; i++) d[i] = s[i] ^ 3; } }",
    "clipped": "int clipped(int n, double *restrict y, const double *restrict x, double most) { int k = 0;"
    "for (int i = 0; i < n; i++) { y[i] = x[i] / 2;"
    "if (x[i] > most) { k++; note(i); y[i] = 0; for (int j = 0; j < 3; j++) note(j); } } return k; }",
    "centred": "struct net { int n; float *mean; }; static int centre(const struct net *w, float *x, int k, int *error)"
    "{ static const float eps = 0.25f; static const int more = 3; if (w->mean == NULL) { note(k); return -1; }"
    "if (error != NULL) *error = k; x[k] = (x[k] - w->mean[k]) * eps; return more; }"
    "int centred(const struct net *w, float *x, int n)"
    "{ int r = 0; for (int i = 0; i < n; i++) r += centre(w, x, i, NULL); return r; }",
    "bounded": "void bounded(int n, const unsigned char *x, unsigned char *restrict y)"
    "{ for (int i = 0; i < n; i++) { assert(x[i] < 200); y[i] = x[i] + 55; } }",
    "chosen": "static int pick(int mode, int v)"
    "{ switch (mode) {"
    "case 1: return v + 1; default: case 4: case 5: if (v > 9) return 9; return v; case 7: return 2; } }"
    "void chosen(int n, int mode, int *restrict y, const int *x, const int *k)"
    "{ for (int i = 0; i < n; i++) y[i] = pick(mode, x[i]) * pick(k[i] & 7, x[i]); }",
}  # fmt: skip
LEFT = {
    "every": "void every(int n, int *restrict y, const int *restrict x)"
    "{ for (int i = 0; i < n; i++) { if (i % 3 == 0) note(i); y[i] = x[i]; } }",
    "some": "void some(int n, int *restrict y, const int *restrict x)"
    "{ for (int i = 0; i < n; i++) { if (i > 2) { if (i > 4) continue; y[i] = 7; } y[i] += x[i]; } }",
    "bytes": "void bytes(int n, float *restrict y, const float *restrict x)"
    "{ for (int i = 0; i < n; i++) { const void *p = x; y[i] = *(const float *)(p + 4 * i); } }",
}
MAIN = """
#include <stdio.h>
#include <string.h>
#include <setjmp.h>
#include <signal.h>
static jmp_buf back; static void failed(int k) { signal(SIGABRT, failed); longjmp(back, k); }
static unsigned seen; void note(int code) { seen = seen * 7 + (unsigned)code; }
static double x[700], y[700], z[12000];
static void fill(void) { float *f = (float *)x; for (int i = 0; i < 1400; i++) f[i] = i % 19; verbose = 0; seen = 0; }
static void tell(const char *name, double value) { const unsigned *b = (const unsigned *)y; unsigned s = 0;
    for (size_t i = 0; i < sizeof y / sizeof *b; i++) s = s * 31 + b[i]; b = (const unsigned *)z;
    for (size_t i = 0; i < sizeof z / sizeof *b; i++) s = s * 31 + b[i];
    printf("%s %u %u %g\\n", name, s, seen, value); }
int main(void) {
    signal(SIGABRT, failed); fclose(stderr);
    struct options quiet = { 0, 1 }, loud = { 3, 1 };
    for (int n = 0; n < 200; n += n < 36 ? 1 : 59) {
        for (int k = 0; k < 2; k++) {
            fill(); tell("limited", limited(n, n - k, (short *)y, (short *)x));
            fill(); tell("optional", optional(n, (float *)x, k ? 0 : (float *)y, &quiet));
            fill(); tell("optional", optional(n, (float *)x, (float *)y, k ? &loud : &quiet));
            fill(); verbose = k; spread(n, 5, (float *)z, (float *)x); tell("spread", 0);
            fill(); planar(n, k, (short *)y, (short *)x, (short *)x + 9); tell("planar", 0);
            fill(); untyped((char *)y + k * 3, x, (size_t)n, 0); tell("untyped", 0);
            fill(); untyped(y, x, (size_t)n, 1); tell("untyped", 0);
        }
        for (int k = 0; k < 190; k += 17) {
            fill(); x[k] = 50; x[k * 3 / 2] = 60; tell("clipped", clipped(n, y, x, 45 + n % 2 * 9));
        }
        for (int k = 0; k < 2; k++) {
            struct net net = { n, k ? 0 : (float *)x };
            fill(); memcpy(y, x, sizeof y); tell("centred", centred(&net, (float *)y + 8, n));
            fill(); ((unsigned char *)x)[n / 2] = 190 + k * 60;
            if (!setjmp(back)) bounded(n, (unsigned char *)x, (unsigned char *)y); tell("bounded", 0);
        }
        for (int k = 0; k < 9; k++) { fill(); chosen(n, k, (int *)y, (int *)x, (int *)x + 3); tell("chosen", 0); }
        fill(); swapped(n, (unsigned char *)x); memcpy(y, x, sizeof y); tell("swapped", 0);
        fill(); product(n, (float *)y, (float *)z, (float *)x); tell("product", 0);
        fill(); every(n, (int *)y, (int *)x); some(n, (int *)y, (int *)x);
        bytes(n, (float *)y, (float *)x); tell("left", 0);
    }
}
"""  # fmt: skip


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
def test_seldom_reached_branches_do_what_they_did(tmp_path: Path) -> None:
    text = HEAD + "\n".join((*TAKEN.values(), *LEFT.values()))
    made = build_file(Source("g.c", text), Options(measure=False, fp="strict"))
    taken = {x.function.name for x in made.functions if x.replacements}
    assert taken - {"dot", "centre", "pick"} == {*TAKEN}, taken
    printed = []
    for program in (text, made.text):
        (tmp_path / "p.c").write_text(program + MAIN)
        command = ["gcc", "-O1", "-g", "-w", "-fno-strict-aliasing", "-fsanitize=address", "p.c", "-o", "p"]
        subprocess.run(command, cwd=tmp_path, check=True)
        printed.append(subprocess.run([str(tmp_path / "p")], capture_output=True, text=True, check=True).stdout)
    assert printed[0] == printed[1]
