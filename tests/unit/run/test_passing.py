"""Functions that take and reach more than numbers and arrays are called, and what they leave is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.run.calls.abi_wrapper import entries_text, entry_text
from planish.run.calls.passing import leaves_of, signature_of
from planish.run.oracle.comparison import Verdict, compare
from planish.run.sizes.call_sizes import make_case
from planish.run.toolchains.toolchain import choose_compiler, compile_library

_POINTER = "struct s { char tag; double x[2]; struct { int k; } in; }; void f(struct s *s) { s->x[1] += s->in.k; }"
_VALUE = "struct s { char t; double v; const float *at; }; struct s f(struct s s, float *p) { s.v += 1; return s; }"
_BITS = "struct b { unsigned k : 5; struct { short m; }; }; struct b f(struct b b) { b.k += b.m; return b; }"
_ROWS = "void f(int n, float **rows) { for (int i = 0; i < n; i++) rows[i][2] += rows[n - 1][i]; }"
_GLOBALS = "static float grid[4][5]; int n; static int calls = 7; void f(void) { grid[1][n % 5] += 1; calls++; }"
_CALLBACK = "void f(double (*g)(double, int), double *x) { x[0] = g(x[0], 3) + g(1, 2); }"
_ADDRESS = "#include <stdio.h>\nfloat *f(FILE *l, void *u, float *p, int n) { fputs(\"x\", l); return p + n % 3; }"
_JOB = "struct job { int n; float *x; }; void *f(void *arg) { struct job *j = arg; j->x[j->n] = 2; return arg; }"
_OUTSIDE = "extern float gains[]; extern const double bias; void f(int n, float *x) { x[0] += gains[n & 7] * bias; }"
_INLINE = "inline float sq(float x) { return x * x; } void f(float *x) { float (*g)(float) = sq; x[0] = g(x[0]); }"
_LOCAL = "extern _Thread_local int errors; void f(int *x) { x[0] += errors++; }"
_NODES = "typedef struct node { struct node *next; float v; } node, *nodes; void f(node at, nodes l) { l->v += at.v; }"
_TABLE = "typedef struct { enum { P, Q } kind; float v; } rows[4]; void f(rows l) { l->v += l->kind + Q; }"
_MAKER = "typedef struct { float x, y; } (*maker)(int); void f(float *a, maker g) { a[0] += 1 + g(3).x; }"
_OWN = "void f(void *l) { typedef struct own { struct own *next; float v; } *owns; owns at = l; at->v += 1; }"
_TAIL = "struct v { int n; float d[]; }; void f(struct v *p) { for (int i = 0; i < p->n; i++) p->d[i] *= 2; }"
_TYPES = """
struct hidden { float v; };
typedef union { float v; int k; } *unions;
typedef const struct fixed { float v; int k : 3; } *fixed;
typedef struct outer { enum kind { NONE, SOME } k; struct inner { int x; } in; } *const outers;
typedef outers again;
typedef enum color { RED, GREEN } (*chooser)(again, enum kind);
typedef enum { LEFT, RIGHT } (*sider)(int);
typedef struct pair { float x, y; } *(*finder)(struct hidden);
struct pair swapped(struct pair p) { struct pair q = {p.y, p.x}; return q; }
struct made { float x[2]; enum { ONE } one; } made(int n) { struct made m = {{n, 1}, ONE}; return m; }
struct { float x; } nameless(float *a) { __typeof__(nameless(0)) *p = (void *)a; return *p; }
void addresses(unions u, fixed f, outers o, again *rows, again o2) { u->v += f->v + o->in.x + o2->k + (rows != 0); }
void functions(int *a, chooser c, sider s, finder g) { a[0] = c(0, SOME) + s(1) + (g != 0); }
void shown(float *a, struct own { float v, w; } *p, struct { float v[2]; } *q) { a[0] = p->v + q->v[0]; }
void taken(float *a, void *p) { struct job { struct hidden *h; float v; }; struct job *j = p; a[0] = j->v; }
void hiding(int *a) { struct hidden { int w; } x = {a[0]}; a[1] = x.w; }
void not_hidden(struct hidden *h) { h->v++; }
"""


def test_types_are_named_as_the_end_of_the_file_knows_them(tmp_path: Path) -> None:
    functions = read_c(Source("a.c", _TYPES)).functions
    signatures = [signature_of(x) for x in functions]
    known = [x for x in signatures if x is not None]
    assert len(known) == len(functions) == 9
    compile_library(choose_compiler(None), _TYPES + entries_text(known), ("-w", "-O0"), tmp_path)
    leaves = {x.name: [p.name for p in leaves_of(x)] for x in functions}
    assert leaves["addresses"] == ["u->v", "f->v", "o->k", "o->in.x", "rows", "o2->k", "o2->in.x"]
    assert leaves["taken"] == ["a", "p->h->v", "p->v"] and leaves["not_hidden"] == ["h->v"]


def _compare(first: str, second: str, folder: Path) -> Verdict:
    function = next(x for x in read_c(Source("a.c", first)).functions if x.name == "f")
    signature = signature_of(function)
    assert signature is not None
    texts = (text + entry_text(signature) for text in (first, second))
    libraries = [compile_library(choose_compiler(None), text, ("-w", "-O1"), folder) for text in texts]
    cases = [make_case(function, (), {}, seed) for seed in (1, 2)]
    return compare(libraries[0], libraries[1], signature, cases)


@pytest.mark.parametrize(
    ("text", "right", "wrong", "place"),
    [
        (_POINTER, "s->x[1] +=", "s->x[0] +=", "s->x"),
        (_VALUE, "s.v += 1", "s.v += 2", "return.v"),
        (_BITS, "b.k += b.m", "b.k += b.m + 1", "return.k"),
        (_BITS, "b.k += b.m", "b.k = b.m", "return.k"),
        (_ROWS, "rows[i][2]", "rows[i][1]", "rows"),
        (_GLOBALS, "grid[1]", "grid[2]", "grid"),
        (_GLOBALS, "calls++", "calls--", "calls"),
        (_CALLBACK, "g(1, 2)", "g(2, 2)", "x"),
        (_ADDRESS, "p + n % 3", "p + n % 3 + 1", "return"),
        (_JOB, "] = 2", "] = 3", "arg->x"),
        (_OUTSIDE, "n & 7", "n & 3 ^ 1", "x"),
        (_INLINE, "x * x", "x * x + x", "x"),
        (_NODES, "+= at.v", "-= at.v", "l->v"),
        (_TABLE, "+ Q", "+ P", "l->v"),
        (_MAKER, "a[0] += 1", "a[0] += 2", "a"),
        (_OWN, "v += 1", "v += 2", "l->v"),
        (_LOCAL, "errors++", "errors++ + 1", "x"),
        (_TAIL, "*= 2", "*= 3", "p->d[]"),
    ],
)
def test_what_is_reached_is_compared(text: str, right: str, wrong: str, place: str, tmp_path: Path) -> None:
    good = _compare(text, text + "\n", tmp_path)
    assert (good.status, good.message) == ("ok", "")
    bad = _compare(text, text.replace(right, wrong), tmp_path)
    assert bad.status == "mismatch" and bad.where is not None and bad.where.array == place
