"""Headers of drop-ins compile as C and as C++, alone, twice, and beside the drop-in."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.emit.dropin.header import common_interface, emit_header, share_types
from planish.emit.dropin.standalone import emit_standalone
from planish.frontend.c.reader import read_c
from planish.ir.text.parser import parse_kernel

WAYS = {
    "gcc-c11": ("gcc", "-std=c11"), "gcc-c17": ("gcc", "-std=c17"), "g++-11": ("g++", "-std=c++11"),
    "g++-20": ("g++", "-std=c++20"), "clang-c11": ("clang", "-std=c11"), "clang-c17": ("clang", "-std=c17"),
    "clang++-11": ("clang", "-xc++", "-std=c++11"), "clang++-20": ("clang", "-xc++", "-std=c++20"),
}  # fmt: skip
TEXTS = {
    "types": """
        typedef struct { float x, y; } point;
        typedef unsigned short sample;
        void shift(int n, const sample *restrict in, sample out[restrict], point by) { out[n] = in[n] + (sample)by.x; }
        float length2(const point *p) { return p->x * p->x; }
    """,
    "rows": """
        #define N 8
        enum { M = 4 };
        void f(int n, int m, double a[n][m], double b[][N], const float (*c)[8], double d[restrict static 3])
        { a[n - 1][m - 1] = b[0][0] + c[0][0] + d[0]; }
        static int hidden(void) { return N; }
        int main(void) { return hidden(); }
        inline int twice(int x) { return 2 * x; }
    """,
    "idle": """
        enum { M = 4 };
        typedef const int (*picks)(register int x, const char *const (*again)(void));
        const char *const name(register int n, register float *x) { return x[n] > 0 ? "a" : "b"; }
        volatile int count(picks pick, const int (*other)(register int)) { return pick(1, 0) + other(2); }
        void scaled(int n, float a[n * M][M - 1], const float (*b)[sizeof(int) * M]) { a[n][0] = b[0][0]; }
    """,
    "chains": """
        #include <stdio.h>
        #include <stdbool.h>
        enum shade { NONE, DARK = 'd' };
        typedef enum { LOW = -1, HIGH } level;
        struct list { struct list *next; level of; enum shade s[3]; };
        typedef struct list *lists;
        union either { int i; float f; };
        typedef double (*function)(double, void *);
        struct opaque;
        bool f(lists all, FILE *out, function g, union either e, struct opaque *o, _Bool *flags, const char *name)
        { return all->of == LOW && out && g(1, o) > e.i && flags[0] && name[0]; }
        enum shade g(const struct list *a, size_t n) { return a[n].s[0]; }
        struct list made(void) { struct list x = { 0, HIGH, { NONE, NONE, DARK } }; return x; }
    """,
    "shared": """
        #include <stddef.h>
        #define POINT(T) typedef struct { T x, y; } point_##T
        #define TWICE(n) (2 * (n))
        enum { N = 4 };
        struct cell { int x; } table[N] = { { 1 }, { 2 } }, *first = table;
        static enum color { RED, GREEN } favourite = GREEN, others[N];
        const union both { int i; float f; } only = { 3 };
        typedef struct node { struct node *next; float v[N]; unsigned bits : N; } node, *nodes, row[TWICE(N) / 2];
        typedef struct { double v; } *wides, wide;
        typedef struct { int x; } uno; typedef struct { float y; } other; struct cell *far(uno a, other b);
        POINT(float);
        typedef struct late late;
        struct late { late *next; enum kind { LEFT = N + 1, RIGHT } k; struct in { int x; } in; } last;
        typedef struct tag { int x; } *tag;
        /* struct twice { int x; }; */
        struct twice { int x; _Bool whole; };
        struct chosen {
        #ifdef MORE
        int x;
        #else
        float y;
        #endif
        };
        struct cell *far(uno a, other b) { first->x = a.x; return table + (size_t)b.y; }
        int f(enum color c, const union both *b) { return c == favourite || others[0] == c || b->i == only.i; }
        float g(nodes all, const node *one, wides w) { row r = { *one }; return all->v[0] + r[0].v[1] + (float)w->v; }
        int h(enum kind k, struct in *in, late *l) { last = *l; return last.k == k && in->x; }
        float k(point_float p, tag t, struct twice *s, struct chosen c) { return p.x + (float)(t->x + s->x) + c.y; }
    """,
    "words": """
        struct class { int new; };
        typedef struct { int n; struct { int x; }; } inner;
        typedef struct { int n; double rest[]; } open_end;
        int f(int class, int this) { return class + this; }
        int g(struct class *c) { return c->new; }
        int h(inner *c) { return c->n; }
        int k(open_end *c) { return c->n; }
        int operator(int n) { return n; }
        const double l() { return 1; }
    """,
    "left": """
        typedef struct __attribute__((packed)) { char c; int i; } tight;
        extern const int many;
        int f(tight *t) { return t->i; }
        int g(double a[many][many]) { return a[0][0] > 0; }
        int h(n, a) int n; double *a; { return a[n] > 0; }
        int last(void) { return 0; }
        #define PACKED __attribute__((packed))
        #define TIGHT PACKED
        struct TIGHT less { char c; int i; };
        struct unclear {
        int i;
        #define LIMIT 4
        };
        struct { struct in { int x; } in; } holder;
        #define BOTH(name) struct name { int x; };
        BOTH(both)
        struct pair { int a, b; } result(int n) { struct pair p = { n, LIMIT }; return p; }
        typedef int (*visit)(struct own { int x; } *p);
        int left1(struct less *p) { return p->i; }
        int left2(struct unclear *p) { return p->i; }
        int left3(struct in *p) { return p->x + holder.in.x; }
        int left4(struct both *p) { return p->x; }
        int left5(struct pair *p) { return p->a; }
        int left6(visit v) { return v(0); }
        int left7(struct nowhere *p) { return p != 0; }
    """,
}  # fmt: skip


def compile_header(folder: Path, way: str, text: str) -> None:
    program, *flags = WAYS[way]
    names = [program, *(f"{program}-{n}" for n in range(30, 10, -1))]
    found = next((x for name in names if (x := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"there is no {program}")
    source = folder / ("use.cc" if "+" in flags[-1] else "use.c")
    source.write_text(text)
    command = [found, *flags, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", source.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{(folder / 'h.h').read_text()}"


def make(name: str, folder: Path) -> tuple[str, str]:
    """The header, and the file that it belongs to as it is in a drop-in."""
    lines = [x.strip() for x in TEXTS[name].splitlines()]
    text = "\n".join(lines) + "\n"
    interface = read_c(Source("h.c", text)).interface
    header, shared = emit_header("h", interface), share_types(f"/* made */\n{text}", "h", interface)
    (folder / "h.h").write_text(header)
    (folder / "h.c").write_text(shared)
    return header, shared


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_header_compiles_alone_and_twice(name: str, way: str, tmp_path: Path) -> None:
    make(name, tmp_path)
    compile_header(tmp_path, way, '#include "h.h"\n#include "h.h"\nint one;\n')


@pytest.mark.parametrize("order", [("h.h", "h.c"), ("h.c", "h.h"), ("h.h", "h.c", "h.h")], ids="-".join)
@pytest.mark.parametrize("name", ["types", "rows", "idle", "chains", "shared"])
def test_a_header_stands_beside_the_drop_in(name: str, order: tuple[str, ...], tmp_path: Path) -> None:
    make(name, tmp_path)
    text = "".join(f'#include "{x}"\n' for x in order)
    (tmp_path / "both.c").write_text(text)
    warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Werror") if name == "shared" else ("-w",)
    command = ["gcc", "-std=c11", *warnings, "-fsyntax-only", "both.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{(tmp_path / 'h.h').read_text()}"


def test_what_is_not_declared_is_told(tmp_path: Path) -> None:
    header, shared = make("left", tmp_path)
    assert "/* f is not declared: attributes say how tight lies in memory. */" in header
    assert "/* g is not declared: the extent many is none of its parameters. */" in header
    reasons = {
        "result": "its own declaration defines a type",
        "left1": "the macro TIGHT may say how struct less lies in memory",
        "left2": "a `#define LIMIT 4` stands in the definition of struct unclear",
        "left3": "struct in is defined where a variable is that has no other type",
        "left4": "struct both is defined by a macro: write it out, or put it into a header of your own",
        "left5": "struct pair is defined in the declaration of a function",
        "left6": "parameters of visit define a type of their own",
        "left7": "struct nowhere is declared within parameters only",
    }
    for name, reason in reasons.items():
        assert f"/* {name} is not declared: {reason}. */" in header
    assert "int h(int n, double *a);" in header and "int last(void);" in header
    assert "struct" not in header.replace("struct less", "").partition("extern")[2].partition("/*")[0]
    assert "#ifndef" not in shared


def test_what_macros_of_headers_hide_is_not_declared(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("#define PACKED __attribute__((packed))\n#define REAL float\n")
    text = '#include "own.h"\nstruct PACKED a { char c; REAL x; };\nstruct b { REAL x; };\n'
    text += "float f(struct a *p) { return p->x; }\nfloat g(struct b *p) { return p->x; }\n"
    interface = read_c(Source("h.c", text), include_dirs=[tmp_path]).interface
    assert interface.left_out == (("f", "the macro PACKED may say how struct a lies in memory"),)
    assert [x.name for x in interface.prototypes] == ["g"]


def test_types_of_compilers_and_of_headers_that_are_not_there() -> None:
    text = "void f(int n, __bf16 *a) { a[n] = a[0]; }\nint g(const strange_t *a) { return a != 0; }\n"
    interface = read_c(Source("h.c", text)).interface
    assert interface.types == () and [x.name for x in interface.prototypes] == ["f"]
    assert interface.left_out == (("g", "strange_t is declared by a header that was not found"),)


def test_static_inline_and_main_are_no_part_of_a_header(tmp_path: Path) -> None:
    header, _ = make("rows", tmp_path)
    assert not {"main", "hidden", "twice"} & set(header.replace("(", " ").split())
    assert "void f(int n, int m, double *a, double (*b)[8], const float (*c)[8], double * H_H_RESTRICT d)" in header


@pytest.mark.parametrize("way", WAYS)
def test_kernels_that_never_were_c(way: str, tmp_path: Path) -> None:
    text = "kernel k(n, m; s: f32, A: f64[n, m] distinct, b: u8[4, 8], c: bool[n]) "
    text += "{ for i in 0 .. n { A[i, 0] = f64(s) c[i] = b[0, 1] > 0:u8 } }"
    (tmp_path / "h.h").write_text(emit_header("k", emit_standalone(parse_kernel(text)).interface))
    compile_header(tmp_path, way, '#include "h.h"\n#include "h.h"\nint one;\n')


def test_only_what_a_type_that_differs_is_part_of_is_not_declared_for_all_targets() -> None:
    text = """
        typedef SIGN char cell;
        typedef struct { cell first; } row;
        typedef struct { int x; } point;
        typedef int (*call)(int n);
        int a(const cell *x) { return x[0]; }
        int b(const row *x) { return x->first; }
        int c(const point *x) { return x->x; }
        int d(call x) { return x(2); }
    """
    read = [read_c(Source("f.c", text), defines=(f"SIGN={x}",)).interface for x in ("signed", "unsigned")]
    found = common_interface(read)
    assert [x.name for x in found.prototypes] == ["c", "d"] and [x for x, _ in found.left_out] == ["a", "b"]
    assert [x.text.split()[-1] for x in found.types] == ["point;", "n);"]
