"""Headers of drop-ins compile as C and as C++, alone, twice, and beside the drop-in."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.emit.header import emit_header, share_types
from planish.emit.standalone import emit_standalone
from planish.frontend.c.reader import read_c
from planish.ir.parser import parse_kernel

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
@pytest.mark.parametrize("name", ["types", "rows", "chains"])
def test_a_header_stands_beside_the_drop_in(name: str, order: tuple[str, ...], tmp_path: Path) -> None:
    make(name, tmp_path)
    text = "".join(f'#include "{x}"\n' for x in order)
    (tmp_path / "both.c").write_text(text)
    command = ["gcc", "-std=c11", "-w", "-fsyntax-only", "both.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{(tmp_path / 'h.h').read_text()}"


def test_what_is_not_declared_is_told(tmp_path: Path) -> None:
    header, shared = make("left", tmp_path)
    assert "/* f is not declared: attributes say how tight lies in memory. */" in header
    assert "/* g is not declared: the extent many is none of its parameters. */" in header
    assert "int h(int n, double *a);" in header and "int last(void);" in header
    assert shared.endswith(TEXTS["left"].replace("        ", "").rstrip(" ")[1:]) or "#ifndef" not in shared


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
