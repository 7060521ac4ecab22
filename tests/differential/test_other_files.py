"""Projects of several files compute what they did where nests have functions of other files: tables, helpers whose
names other files have, too, chains of files, variables that all know, structures, functions with loops."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from planish.build.project import JoinedFiles, list_files, read_source
from planish.options import Options
from planish.pipeline import build_file

FILES = {
    # Pixels: a table, a helper that the caller has otherwise, a loop over a row.
    "pixels/pixels.h": """#include <stdint.h>
int clip(int x, int low, int high);
uint8_t gamma_of(int v);
void blend_row(int n, uint8_t *restrict d, const uint8_t *restrict s, int a);
""",
    "pixels/pixels.c": """#include "pixels.h"
enum { TOP = 225 };
static const uint8_t table[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, TOP};
static int least(int a, int b) { return a < b ? a : b; }
int clip(int x, int low, int high) { return x < low ? low : least(x, high); }
uint8_t gamma_of(int v) { return table[v & 15]; }
void blend_row(int n, uint8_t *restrict d, const uint8_t *restrict s, int a)
{
    for (int i = 0; i < n; i++) d[i] = (uint8_t)clip((d[i] * (256 - a) + s[i] * a) >> 8, 3, 250);
}
""",
    "pixels/picture.c": """#include "pixels.h"
#define high 9
static int least(int a, int b) { return a > b ? a : b; } /* another one */
void limit(int n, int *restrict y, const int *restrict x) {
    for (int i = 0; i < n; i++) y[i] = clip(x[i] * 3, -40, least(high, 60)) + gamma_of(x[i]);
}
void frame(int h, int w, uint8_t *restrict d, const uint8_t *restrict s, int a) {
    for (int y = 0; y < h; y++) blend_row(w, d + y * w, s + y * w, a);
}
int other(int n, const uint8_t *x) { int s = 0; for (int i = 0; i < n; i++) s += clip(x[i], 9, 99); return s; }
""",
    "pixels/main.c": """#include <stdio.h>
#include "pixels.h"
void limit(int n, int *y, const int *x);
void frame(int h, int w, uint8_t *d, const uint8_t *s, int a);
int other(int n, const uint8_t *x);
int main(void) {
    static int x[999], y[999]; static uint8_t d[999], s[999]; unsigned sum = 0;
    for (int n = 0; n < 999; n += n < 40 ? 1 : 137) {
        for (int i = 0; i < 999; i++) { x[i] = i * 37 % 101 - 50; y[i] = 0; d[i] = i * 7 + n; s[i] = i * 13; }
        limit(n, y, x);
        frame(n % 5, n / 5, d, s, n & 255);
        for (int i = 0; i < 999; i++) sum = sum * 31 + y[i] + d[i];
        printf("%u %d\\n", sum, other(n, d));
    }
}
""",
    # Signals: a chain of files, a variable that all know, a callback, a function that must not be taken along.
    "signal/signal.h": """typedef short sample;
extern int volume;
sample shape(sample x, int level);
sample soften(int x);
int noisy(int x);
int apply(int (*op)(int), int x);
""",
    "signal/shape.c": """#include "signal.h"
int volume = 3;
static int seed = 1;
static inline int scale(int x) { return x * volume; }
sample shape(sample x, int level) { return soften(scale(x) + level); }
int noisy(int x) { return x + seed++; }
int apply(int (*op)(int), int x) { return op(x) + 1; }
""",
    "signal/soften.c": """#include "signal.h"
static int scale(int x) { return x >> 2; }
sample soften(int x) { return (sample)(x > 3000 ? 3000 + scale(x - 3000) : x); }
""",
    "signal/play.c": """#include "signal.h"
#include <stdio.h>
void mix(int n, sample *restrict y, const sample *restrict x, int level) {
    for (int i = 0; i < n; i++) y[i] = (sample)(y[i] / 2 + shape(x[i], level) / 2);
}
static int twice(int x) { return 2 * x; }
int count(int n, const sample *x) {
    int s = 0;
    for (int i = 0; i < n; i++) s += noisy(x[i]) + apply(twice, x[i]);
    return s;
}
void echo(int n, sample *y, const sample *x, int (*soften)(int)) {
    for (int i = 0; i < n; i++) y[i] = (sample)soften(x[i]);
}
int main(void) {
    static sample x[500], y[500]; unsigned sum = 0;
    for (int n = 0; n < 500; n += n < 35 ? 1 : 91) {
        for (int i = 0; i < 500; i++) { x[i] = (sample)(i * 977); y[i] = (sample)(i * 31); }
        volume = n % 4;
        mix(n, y, x, n);
        if (n & 1) echo(n, y, x, twice);
        for (int i = 0; i < 500; i++) sum = sum * 31 + y[i];
        printf("%u %d\\n", sum, count(n, x));
    }
}
""",
    # Bodies: structures, numbers of another name, a table of the same values in a header of all.
    "bodies/bodies.h": """typedef double real;
typedef struct { real x, y, mass; } body;
static const real weights[3] = {0.25, 0.5, 0.25};
real pull(const body *b, real x, real y);
real smooth(real a, real b, real c);
""",
    "bodies/force.c": """#include <math.h>
#include "bodies.h"
#define SOFT 0.01
static real square(real x) { return x * x; }
real pull(const body *b, real x, real y)
{
    real d = square(b->x - x) + square(b->y - y) + SOFT;
    return b->mass / (d * sqrt(d));
}
""",
    "bodies/smooth.c": """#include "bodies.h"
real smooth(real a, real b, real c) { return weights[0] * a + weights[1] * b + weights[2] * c; }
""",
    "bodies/field.c": """#include <stdio.h>
#include "bodies.h"
void field(int n, real *restrict f, const real *restrict x, const body *b) {
    for (int i = 0; i < n; i++) f[i] = pull(b, x[i], 1.5);
}
void blur(int n, real *restrict y, const real *restrict x) {
    for (int i = 1; i < n - 1; i++) y[i] = smooth(x[i - 1], x[i], x[i + 1]);
}
int main(void) {
    static real x[300], y[300], f[300]; body b = {0.5, 2, 3};
    for (int n = 0; n < 300; n += n < 20 ? 1 : 67) {
        for (int i = 0; i < 300; i++) { x[i] = i * 0.37; y[i] = f[i] = 0; }
        field(n, f, x, &b);
        blur(n, y, f);
        for (int i = 0; i < n; i++) printf("%.17g %.17g\\n", f[i], y[i]);
    }
}
""",
}
TAKEN = {"limit", "frame", "blend_row", "other", "mix", "field", "blur"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
def test_nests_with_functions_of_other_files_compute_the_same(project: Path) -> None:
    """The drop-ins stand beside the other files as they were written."""
    taken: set[str] = set()
    notes: list[str] = []
    for name in ("pixels", "signal", "bodies"):
        files = list_files([str(project / name)], project / "out")
        options = Options(measure=False, fp="strict")
        joined = JoinedFiles(files, options)
        texts = {}
        for file in files:
            if Path(file.name).name in ("pixels.c", "picture.c", "play.c", "field.c"):
                own = replace(options, functions=tuple(sorted(TAKEN & set(FILES_FUNCTIONS[Path(file.name).name]))))
                made = build_file(joined.read(file, read_source(file.name)), own)
                taken |= {x.function.name for x in made.functions if x.replacements}
                notes += [x.message for x in made.remarks if x.id == "c-inline"]
                texts[file.name] = made.text
        printed = []
        for chosen in ({}, texts):
            program = project / f"program_{len(printed)}"
            sources = []
            for file in files:
                path = project / name / f"made_{len(printed)}_{Path(file.name).name}"
                path.write_text(chosen.get(file.name, Path(file.name).read_text()))
                sources.append(str(path))
            command = ["gcc", "-O1", "-w", "-fsanitize=address,undefined", "-ffp-contract=off", *sources, "-lm", "-o"]
            subprocess.run([*command, str(program)], check=True)
            printed.append(subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout)
            for path in map(Path, sources):
                path.unlink()
        assert printed[0] == printed[1], name
        assert printed[0]
    assert taken == TAKEN
    assert any("`shape`" in x and "shape.c" in x for x in notes)
    assert any("`soften`" in x and "soften.c" in x for x in notes)


FILES_FUNCTIONS = {
    "pixels.c": ("blend_row",), "picture.c": ("limit", "frame", "other"), "play.c": ("mix",),
    "field.c": ("field", "blur"),
}  # fmt: skip
"""The functions that are built of each file: the others are told of alone."""
