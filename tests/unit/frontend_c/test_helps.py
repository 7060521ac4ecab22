"""What a refusal says to change makes a nest of the loop: each program is refused, and the one after it taken."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c

LOOP = "for (int i = 0; i < n; i++) "
PAIRS = {
    "subscript": ("scop-affine", "void f(int n, float *a) { LOOP for (int j = 0; j < n; j++) a[i * j] = 1; }",
                  "void f(int n, int m, float *a) { LOOP for (int j = 0; j < n; j++) a[i * m + j] = 1; }"),
    "divisor": ("scop-division", "void f(int n, float *a) { LOOP a[i / -2 + n] = 1; }",
                "void f(int n, float *a) { LOOP a[i / 2] = 1; }"),
    "either bound": ("scop-bound", "void f(int n, int m, float *a) { for (int i = 0; i < n || i < m; i++) a[i] = 1; }",
                     "void f(int n, int m, float *a) { int k = n > m ? n : m; for (int i = 0; i < k; i++) a[i] = 1; }"),
    "values": ("scop-array", "void f(int n, float *a) { LOOP { float t[2][2] = {{1, 2}, {3}}; a[i] = t[i % 2][0]; } }",
               "void f(int n, float *a) { LOOP { float t[2][2]; t[0][0] = 1; t[1][0] = 3; a[i] = t[i % 2][0]; } }"),
    "assignment": ("scop-assignment", "void f(int n, int *a, int *b) { LOOP a[i] = (b[i] = 2) + b[i]; }",
                   "void f(int n, int *a, int *b) { LOOP { b[i] = 2; a[i] = 2 + b[i]; } }"),
    "condition": ("scop-condition", "void f(int n, int m, int *c, int *a) { LOOP if (c[i]) "
                  "for (int j = 0; j < m; j++) a[j] += i; }",
                  "void f(int n, int m, int *c, int *a) { LOOP for (int j = 0; j < m; j++) if (c[i]) a[j] += i; }"),
    "choice": ("scop-condition", "void f(int n, int *a, int *b) { LOOP { if (a[i] > 2) b[i] = 1; a[i] = b[i]; } }",
               "void f(int n, int *a, int *b) { LOOP { b[i] = a[i] > 2 ? 1 : b[i]; a[i] = b[i]; } }"),
    "#if": ("scop-conditional", "void f(int n, float *a) {\n#ifdef X\nfor (int i = 0; i < n; i += 2)\n#else\nLOOP\n"
            "#endif\na[i] = 1; }",
            "void f(int n, float *a) {\n#ifdef X\nfor (int i = 0; i < n; i += 2) a[i] = 1;\n#else\n"
            "LOOP a[i] = 1;\n#endif\n}"),
    "pointer kept": ("scop-exit", "float *g; void f(int n, float *a) { LOOP { g = a + i; *g = 1; } }",
                     "void f(int n, float *a) { LOOP { float *g = a + i; *g = 1; } }"),
    "literal": ("scop-expression", "void f(int n, int *a, int *b) { LOOP a[i] = (int){b[i]}; }",
                "void f(int n, int *a, int *b) { LOOP a[i] = b[i]; }"),
    "character": ("scop-literal", "void f(int n, char *a) { LOOP a[i] = 'ab'; }",
                  "void f(int n, char *a) { LOOP a[i] = 98; }"),
    "exit": ("scop-jump", "void f(int n, float *a) { LOOP { if (a[i] < 0) break; a[i + 1] = 1; } }",
             "void f(int n, int *a, int *b) { int k; for (k = 0; k < n; k++) if (a[k] < 0) break; "
             "for (int i = 0; i < k; i++) b[i] = 1; }"),
    "switch": ("scop-jump", "void f(int n, int *a) { LOOP switch (a[i]) { case 1: a[i] = 2; case 2: a[i] += 1; } }",
               "void f(int n, int *a) { LOOP switch (a[i]) { case 1: a[i] = 3; break; case 2: a[i] += 1; } }"),
    "endless": ("scop-loop", "void f(int n, float *a) { for (;;) a[0] += 1; }",
                "void f(int n, float *a) { LOOP a[0] += 1; }"),
    "hidden": ("scop-name", "int k = 3; static int g(int x) { return x * k; } "
               "void f(int n, int *a) { int k = 7; LOOP a[i] = g(a[i]) + k; }",
               "int k = 3; static int g(int x) { return x * k; } "
               "void f(int n, int *a) { int q = 7; LOOP a[i] = g(a[i]) + q; }"),
    "two arrays": ("scop-pointer", "void f(int n, int *c, int *a, int *b) { LOOP { "
                   "int *p = c[i] ? a : b; p[i] = 1; } }",
                   "void f(int n, int *c, int *a, int *b) { LOOP { if (c[i]) a[i] = 1; else b[i] = 1; } }"),
    "assembly": ("scop-statement", "void f(int n, float *a) { LOOP { __asm__ (\"nop\"); a[i] = 1; } }",
                 "void f(int n, float *a) { __asm__ (\"nop\"); LOOP a[i] = 1; }"),
    "static": ("scop-static", "void f(int n, float *a) { LOOP { static float s; s += a[i]; a[i] = s; } }",
               "void f(int n, float *a, float *s) { LOOP { *s += a[i]; a[i] = *s; } }"),
    "members": ("scop-struct", "struct s { float *p; struct s *q; }; "
                "void f(int n, struct s *s) { LOOP { s->p[i] = 1; s = s->q; } }",
                "struct s { float *p; struct s *q; }; void f(int n, struct s *s) { float *p = s->p; LOOP p[i] = 1; }"),
    "volatile": ("scop-type", "volatile int k; void f(int n, float *a) { LOOP a[i] = k; }",
                 "volatile int k; void f(int n, float *a) { int c = k; LOOP a[i] = c; }"),
    "a call": ("scop-call", "int g(int); void f(int n, int *a) { LOOP a[i] = g(a[i]); }",
               "int g(int x) { return x * x; } void f(int n, int *a) { LOOP a[i] = g(a[i]); }"),
    "behind": ("scop-unknown", "void f(int n, float *a) { LOOP a[i] *= s; } float s = 3;",
               "float s = 3; void f(int n, float *a) { LOOP a[i] *= s; }"),
    "bound behind": ("scop-unknown", "void f(float *a) { for (int i = 0; i < K; i++) a[i] = 1; } enum { K = 3 };",
                     "enum { K = 3 }; void f(float *a) { for (int i = 0; i < K; i++) a[i] = 1; }"),
    "called early": ("scop-unknown", "void f(int n, float *a) { LOOP a[i] = g(i); } float g(int i) { return i; }",
                     "float g(int i); void f(int n, float *a) { LOOP a[i] = g(i); } float g(int i) { return i; }"),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_what_helps_is_what_makes_a_nest(name: str) -> None:
    cause, refused, taken = (x.replace("LOOP ", LOOP).replace("LOOP\n", LOOP + "\n") for x in PAIRS[name])
    file = read_c(Source("f.c", refused))
    (remark,) = [x for x in file.remarks if x.kind == "refused"]
    assert remark.id == cause and remark.advice and "planish_" not in remark.message
    file = read_c(Source("f.c", taken))
    assert any(x.regions for x in file.functions) and not [x for x in file.remarks if x.kind == "refused"]


def test_a_function_that_returns_an_int_may_be_called_before_it_is_declared() -> None:
    text = "void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = g(i); } int g(int i) { return i + 1; }"
    assert read_c(Source("f.c", text)).functions[0].regions


@pytest.mark.parametrize(
    ("statement", "help"),
    [("a[i] = strlen(s)", "once in front"), ("a[i] = rand()", "a loop of its own"),
        ("puts(s)", "a loop of its own"), ("a[i] = q(i)", "define it in")],
)
def test_calls_have_their_own_help(statement: str, help: str) -> None:
    head = "int rand(void); int puts(char *); unsigned long strlen(const char *); int q(int);"
    text = f"{head}\nvoid f(int n, int *a, char *s) {{ {LOOP}{statement}; }}"
    (remark,) = [x for x in read_c(Source("f.c", text)).remarks if x.kind == "refused"]
    assert help in remark.advice
