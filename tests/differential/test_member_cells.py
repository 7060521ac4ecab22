"""Numbers in structures that nests set, and calls that store beside what they return, leave what they did."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.options import Options
from planish.pipeline import build_file

TEXT = """#include <string.h>
#include <math.h>
typedef struct { float z1, z2; int count, most; } state;
struct pair { float x, y; int k; };
static float step(state *s, float x) { float y = x + s->z1; s->z1 = s->z2 - y * 0.5f; s->z2 = x; return y; }
static int put(unsigned char *p, int v) { p[0] = (unsigned char)v; p[1] = (unsigned char)(v >> 8); return v + 1; }
void run(int n, state *s, float *x) { for (int i = 0; i < n; i++) x[i] = step(s, x[i]) * 0.25f; }
void tally(int n, state *s, state *t, const int *x)
{ for (int i = 0; i < n; i++) { s->count += x[i] * t->most; if (x[i] > s->most) s->most = x[i]; } }
struct pair local(int n, const int *a)
{ struct pair s = { 0, 0, 1 }; for (int i = 0; i < n; i++) { s.k ^= a[i]; s.y = (float)a[i]; } return s; }
int apart(int n, int k, const int *a)
{
    struct { int sum, k; } r = { 0, 1 }; int r_sum = 5;
    for (int i = 0; i < n; i++) { r.sum += a[i]; r.k ^= a[i]; r_sum -= a[i]; if (a[i] > k) k = a[i]; }
    return r.sum * 3 + r.k * 5 + r_sum * 7 + k;
}
int pack(int n, const int *v, unsigned char *o, unsigned short *w, long *r)
{
    int s = 0;
    for (int i = 0; i < n; i++) s += (int)put(o + 2 * i, v[i]);
    memset(w, 0x81, n * sizeof *w);
    for (int i = 0; i < n; i++) r[i] = lrint(v[i] * 0.5) + __builtin_bswap32((unsigned)v[i]) + isnan(v[i] * 1.0);
    return s;
}
"""
MAIN = """
#include <stdio.h>
static state p, q; static float x[200]; static int a[200]; static unsigned char o[400]; static unsigned short w[200];
static long r[200];
static void tell(const void *at, int n) { unsigned s = 0; const unsigned char *b = at;
    for (int i = 0; i < n; i++) s = s * 31 + b[i]; printf("%u ", s); }
int main(void)
{
    run(0, 0, 0); tally(0, 0, 0, 0);
    for (int n = 0; n < 190; n += n < 40 ? 1 : 67) {
        for (int i = 0; i < 200; i++) { x[i] = i % 8; a[i] = i * 37 % 61 - 30; }
        p = (state){ 1, 2, 3, -4 }; q = (state){ 5, 6, 7, 3 };
        run(n, &p, x); tell(x, sizeof x); tell(&p, sizeof p);
        tally(n, &p, &q, a); tally(n, &q, &q, a); tell(&p, sizeof p); tell(&q, sizeof q);
        tally(n / 9, (state *)(a + 2), &q, a); tell(a, sizeof a);
        struct pair s = local(n, a); tell(&s, sizeof s);
        printf("%d %d ", apart(n, 9, a), apart(n, 99, a));
        printf("%d ", pack(n, a, o, w, r)); tell(o, sizeof o); tell(w, sizeof w); tell(r, sizeof r);
        printf("\\n");
    }
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
def test_members_are_those_of_the_original(tmp_path: Path) -> None:
    made = build_file(Source("m.c", TEXT), Options(measure=False, fp="strict"))
    assert {x.function.name for x in made.functions if x.replacements} == {"run", "tally", "local", "apart", "pack"}
    printed = []
    for program in (TEXT, made.text):
        (tmp_path / "p.c").write_text(program + MAIN)
        command = ["gcc", "-O2", "-march=native", "-ffp-contract=off", "-fno-strict-aliasing", "-w", "p.c", "-o", "p"]
        subprocess.run([*command, "-lm"], cwd=tmp_path, check=True)
        printed.append(subprocess.run([str(tmp_path / "p")], capture_output=True, text=True, check=True).stdout)
    assert printed[0] == printed[1]


HEAD = "#include <string.h>\ntypedef struct { int n, b : 3; float *p; float z; } s; s g; int put(int *p, int v);\n"
HEAD += "static int set(int *p, int v) { *p = v; return v; }\n"


@pytest.mark.parametrize(
    "body",
    [
        "q->b = i;", "q->p = x + i;", "s t = *q; a[i] = t.b;", "a[i] = set(a + i, 2) + a[i];",
        "a[i] += set(a + i, 2);", "a[i] = set(a + i, 1) + set(a + i, 2);", "a[i] = x[i] > 0 && set(a + i, 1);",
        "a[i] = put(a, i);", "g.n += a[i];", "l.n += a[i]; put(&l.n, i);", "memset(x + i * 4, 0xff, 16);",
        "memmove(a + i, a, 16);",
    ],
)  # fmt: skip
def test_what_is_not_known_stays_as_written(body: str) -> None:
    text = f"{HEAD}void f(int n, s *q, int *a, float *x, s l) {{ for (int i = 0; i < n; i++) {{ {body} }} }}"
    assert not read_c(Source("f.c", text)).function("f").regions
