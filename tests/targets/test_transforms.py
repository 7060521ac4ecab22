"""Fourier transforms, made for each target from one text, run where its instructions are beside their definition."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.targets.test_microkernels import need, run

from planish.core.span import Source
from planish.emit.dropin.kernel_file import emit_file
from planish.frontend.c.reader import read_c
from planish.library.signal.stockham_fft import transform_versions
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

TARGETS = {"avx2": "x86-avx2", "neon": "aarch64-neon"}
TEXT = """\
#include <math.h>
void dft(const float x[60][2], float y[60][2])
{
    for (int k = 0; k < 60; k++) {
        float re = 0, im = 0;
        for (int n = 0; n < 60; n++) {
            const double a = -2 * 3.14159265358979323846 * (k * n % 60) / 60;
            re += x[n][0] * (float)cos(a) - x[n][1] * (float)sin(a);
            im += x[n][0] * (float)sin(a) + x[n][1] * (float)cos(a);
        }
        y[k][0] = re;
        y[k][1] = im;
    }
}
"""
CHECK = """
#include <math.h>
#include <stdio.h>
int main(void)
{
  static float x[60][2], y[60][2], z[60][2];
  for (int i = 0; i < 120; i++) x[i / 2][i % 2] = (float)((i * 37 + 11) % 64) / 32 - 1;
  passes(x, y);
  dft(x, z);
  for (int i = 0; i < 60; i++)
    for (int j = 0; j < 2; j++)
      if (!(fabsf(y[i][j] - z[i][j]) < 1e-5f * 60))
        return printf("%d, %d: %g, not %g\\n", i, j, (double)y[i][j], (double)z[i][j]), 1;
  return 0;
}
"""


@pytest.mark.parametrize("extension", TARGETS)
def test_a_transform_is_what_its_definition_is(extension: str, tmp_path: Path) -> None:
    need(extension)
    (function,) = read_c(Source("dft.c", TEXT)).functions
    found = prepare(function.regions[0].kernel)
    versions, _ = transform_versions(found, load_target(TARGETS[extension]), "reassociate")
    for version in versions:
        text = emit_file(replace(version.kernel, name="passes"))
        run(text + TEXT + CHECK, extension, tmp_path, "-O3", "-fopenmp-simd")
