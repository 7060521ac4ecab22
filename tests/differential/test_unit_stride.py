"""Nests with a copy for strides of 1 compute the same for all strides."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

TEXT = """
void update(int n, int step, float *restrict a, const float *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i * step] += b[i];
}

int place(int n, int step, const int *restrict a)
{
    int most = a[0], k = 0, found = 0;
    for (int i = 0; i < n; i++) {
        if (a[k] > most) { most = a[k]; found = i; }
        k += step;
    }
    return found;
}

void gather(int n, int step, int *restrict a, const int *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i * step] * 3;
}
"""
MAIN = """
#include <stdio.h>
int main(void)
{
    static float a[4000], b[1000];
    static int c[4000], d[1000];
    for (int step = 1; step < 4; step++)
        for (int n = 0; n < 1000; n += n < 40 ? 1 : 159) {
            for (int i = 0; i < 4000; i++) { a[i] = i % 13; c[i] = i * 7919 % 997; }
            for (int i = 0; i < 1000; i++) { b[i] = i % 7; d[i] = 0; }
            update(n, step, a, b);
            gather(n, step, d, c);
            double sum = 0;
            long others = 0;
            for (int i = 0; i < 4000; i++) sum += a[i] * (i % 31);
            for (int i = 0; i < 1000; i++) others += (long)d[i] * (i % 29);
            printf("%d %d %g %ld %d\\n", step, n, sum, others, place(n, step, c));
        }
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
def test_all_strides_are_right(tmp_path: Path) -> None:
    made = build_file(Source("u.c", TEXT), Options(measure=False))
    assert made.text.count("if (step == 1)") == 3
    printed = []
    for text in (TEXT, made.text):
        (tmp_path / "p.c").write_text(text + MAIN)
        subprocess.run(["gcc", "-O2", "-march=native", "-w", "p.c", "-o", "p"], cwd=tmp_path, check=True)
        printed.append(subprocess.run([str(tmp_path / "p")], capture_output=True, text=True, check=True).stdout)
    assert printed[0] == printed[1]
