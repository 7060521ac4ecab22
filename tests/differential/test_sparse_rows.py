"""Sums over the rows of sparse matrices: the same as the original's, in rows that are long or short, or none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from judging import agree

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

COMPILERS = [x for x in ("gcc", "clang-19", "clang") if shutil.which(x)][:2]
PROGRAM = """#include <stddef.h>
void product(int rows, const int *start, const int *column, const double *value, const double *x, double *y)
{
    for (int i = 0; i < rows; i++) {
        double s = 0;
        for (int k = start[i]; k < start[i + 1]; k++)
            s += value[k] * x[column[k]];
        y[i] = s;
    }
}

long degrees(long from, long to, const long *first, const unsigned *next, const int *weight)
{
    long most = 0, i;
    for (i = from; i < to; ++i) {
        unsigned sum = 0;
        for (long e = first[i]; e < first[i + 1]; ++e)
            sum += (unsigned)weight[next[e]];
        most = most * 2 + sum % 9999;
    }
    return most;
}

void residual(size_t n, const unsigned *ptr, const int *idx, const float *a, const float *x, float *r)
{
    if (n > 0)
        for (size_t row = 0; row < n; row++) {
            float t = r[row];
            for (unsigned j = ptr[row]; j < ptr[row + 1]; j++)
                t -= a[j] * x[idx[j]];
            r[row] = t;
        }
    else
        r[0] = 1;
}
"""
STAYS = """void counted(int n, const int *count, const int *column, const double *x, double *y)
{
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int k = 0; k < count[i]; k++)
            s += x[column[k]];
        y[i] = s;
    }
}
"""
MAIN = """#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    for (int most = 1; most < 500; most *= 3) {
        int rows = 30, all = 0, start[31]; long first[31]; unsigned ptr[31];
        for (int i = 0; i <= rows; i++) {
            start[i] = all; first[i] = all; ptr[i] = all;
            if (i < rows) all += i % 7 == 3 ? 0 : most + i * most / 30;
        }
        int *column = malloc(all * 4 + 4), *weight = malloc(400); unsigned *next = malloc(all * 4 + 4);
        double *v = malloc(all * 8 + 8), x[100], y[30]; float *a = malloc(all * 4 + 4), f[100], r[30];
        for (int k = 0; k < all; k++) { column[k] = k * 37 % 100; next[k] = k * 11 % 100; v[k] = k % 9; a[k] = k % 5; }
        for (int i = 0; i < 100; i++) { weight[i] = i * i - 50; x[i] = i % 13; f[i] = i % 3; }
        for (int i = 0; i < rows; i++) r[i] = i;
        product(rows, start, column, v, x, y); residual(rows, ptr, column, a, f, r); residual(0, 0, 0, 0, 0, f);
        double s = f[0]; for (int i = 0; i < rows; i++) s += y[i] * (i + 1) + r[i] * (i % 4);
        printf("%d %ld %ld %.9g\\n", most, degrees(2, rows, first, next, weight), degrees(3, 3, 0, 0, 0), s);
        free(column); free(weight); free(next); free(v); free(a);
    }
    return 0;
}
"""


def run(text: str, command: str, place: Path) -> str:
    (place / "p.c").write_text(text + MAIN)
    subprocess.run([*command.split(), "-w", "p.c", "-o", "p"], cwd=place, check=True)
    return subprocess.run([str(place / "p")], capture_output=True, text=True, check=True).stdout


@pytest.mark.each_value
@pytest.mark.parametrize("flags", ["-O2", "-O3 -march=native"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_rows_are_summed_as_in_the_original(compiler: str, flags: str, tmp_path: Path) -> None:
    made = build_file(Source("c.c", PROGRAM + STAYS), Options(measure=False))
    taken = {x.function.name for x in made.functions if x.selection is not None and x.selection.version is not None}
    assert taken == {"product", "degrees", "residual"}
    expected = run(PROGRAM, "gcc -O1", tmp_path)
    for command in (f"{compiler} {flags}", "gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"):
        assert agree(run(made.text, command, tmp_path), expected, 1e-5), command
