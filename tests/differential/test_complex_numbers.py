"""Nests of complex numbers compute what they did: arrays, sums, local values, members, numbers that are passed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.options import Options
from planish.pipeline import build_file

TEXT = """#include <complex.h>
typedef float complex value;
struct cell { value z; float w; };
void mirror(int n, value *z, const value *w, float k)
{ for (int i = 0; i < n; i++) z[i] = conjf(z[i]) * w[i] - k * z[i] + 2.0f * I; }
double complex dot(int n, const double complex *a, const double complex *b)
{ double complex s = 0; for (int i = 0; i < n; i++) s += a[i] * ~b[i]; return s; }
void sums(int n, const value *a, value *o)
{ for (int i = 0; i < n; i++) { value t = 0; for (int j = 0; j < 5; j++) t -= a[i * 5 + j] * a[j]; o[i] = t; } }
void cells(int n, struct cell *p, float *o, double _Complex f)
{ for (int i = 0; i < n; i++) { p[i].z *= p[i].w; o[i] = cabsf(p[i].z) + crealf(p[i].z) - cimag(I * p[i].z * f); } }
void shift(int n, double complex *a)
{ for (int i = 1; i < n; i++) if (i != 7) a[i] = a[i - 1] * a[i] / 4.0 + CMPLX(0.5, i); }
"""
MAIN = """
#include <stdio.h>
static double complex a[99], b[99]; static value z[600], w[600]; static struct cell p[99]; static float o[99];
static void tell(const double *x, int n) { for (int i = 0; i < n; i++) printf("%.9g ", x[i]); printf("\\n"); }
int main(void)
{
    for (int n = 0; n < 99; n += n < 20 ? 1 : 26) {
        for (int i = 0; i < 600; i++) { z[i] = i % 7 + (i % 5) * I; w[i] = 2 - (i % 3) * I; }
        for (int i = 0; i < 99; i++) { a[i] = z[i]; b[i] = w[i]; p[i].z = z[i]; p[i].w = i % 4; }
        mirror(n, z, w, 0.5f); double complex d = dot(n, a, b); sums(n, w, z + 99);
        cells(n, p, o, 2 + 3 * I); shift(n, a);
        for (int i = 0; i < 99; i++) printf("%.6g %.6g %.6g\\n", crealf(z[i]), cimagf(z[99 + i]), o[i]);
        for (int i = 0; i < 99; i++) printf("%.6g\\n", cabsf(p[i].z));
        tell((double *)a, 198); tell((double *)&d, 2);
    }
}
"""


PRODUCT = """#include <complex.h>
void product(int n, const double complex *a, const double complex *b, double complex *c)
{ for (int i = 0; i < n; i++) c[i] = a[i] * b[i]; }
"""
PARTS = """
#include <stdio.h>
static double complex a[20736], b[20736], c[20736];
int main(void)
{
    const double x[] = { 0.0, -0.0, 1.0, -1.5, 1e308, -1e308, 1e-308, 1 / 0.0, -1 / 0.0, 0 / 0.0, -(0 / 0.0), 3 };
    for (int i = 0; i < 20736; i++) a[i] = CMPLX(x[i % 12], x[i / 12 % 12]);
    for (int i = 0; i < 20736; i++) b[i] = CMPLX(x[i / 144 % 12], x[i / 1728]);
    product(20736, a, b, c);
    for (int i = 0; i < 20736; i++) {
        double r = creal(c[i]), j = cimag(c[i]);
        if (r != r) printf("nan "); else printf("%a ", r);
        if (j != j) printf("nan\\n"); else printf("%a\\n", j);
    }
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
def test_exact_products_are_those_of_the_compiler(tmp_path: Path) -> None:
    made = build_file(Source("c.c", PRODUCT), Options(measure=False, fp="strict"))
    assert made.functions[0].replacements
    printed = []
    for program in (PRODUCT, made.text):
        (tmp_path / "p.c").write_text(program + PARTS)
        command = ["gcc", "-O2", "-march=native", "-ffp-contract=off", "-w", "p.c", "-o", "p", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        printed.append(subprocess.run([str(tmp_path / "p")], capture_output=True, text=True, check=True).stdout)
    assert printed[0] == printed[1]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
def test_complex_numbers_are_those_of_the_original(tmp_path: Path) -> None:
    made = build_file(Source("c.c", TEXT), Options(measure=False))
    assert all(x.replacements for x in made.functions), [x.function.name for x in made.functions if not x.replacements]
    printed = []
    for program in (TEXT, made.text):
        (tmp_path / "p.c").write_text(program + MAIN)
        subprocess.run(["gcc", "-O2", "-march=native", "-w", "p.c", "-o", "p", "-lm"], cwd=tmp_path, check=True)
        printed.append(subprocess.run([str(tmp_path / "p")], capture_output=True, text=True, check=True).stdout.split())
    assert [float(x) for x in printed[1]] == pytest.approx([float(x) for x in printed[0]], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    "body",
    [
        "a[i] = a[i] / b[i];", "a[i] = cexp(b[i]);", "if (a[i] == b[i]) a[i] = 0;", "a[i]++;", "x[i] = a[i];",
        "a[i] *= b[i] ? 2 : 3;",
    ],
)  # fmt: skip
def test_what_is_not_known_stays_as_written(body: str) -> None:
    head = "#include <complex.h>\nvoid f(int n, double complex *a, double complex *b, double *x)"
    assert not read_c(Source("f.c", f"{head} {{ for (int i = 0; i < n; i++) {{ {body} }} }}")).functions[0].regions
