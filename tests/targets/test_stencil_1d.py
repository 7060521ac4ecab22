"""Repeated sweeps over a line, made for each target from one text, run where its instructions are beside the loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.targets.test_microkernels import need, run

from planish.core.span import Source
from planish.emit.dropin.kernel_file import emit_file
from planish.frontend.c.reader import read_c
from planish.library.loops.stencil_1d.dimension_lifting import segment_versions
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

TARGETS = {"avx2": "x86-avx2", "neon": "aarch64-neon"}
TEXT = """\
void sweeps(int s, int n, float a[restrict n], float b[restrict n])
{
    for (int t = 0; t < s; t++) {
        for (int i = 2; i < n - 1; i++) b[i] = 0.25f * (a[i - 2] + a[i]) + 0.5f * a[i + 1];
        for (int i = 1; i < n - 1; i++) a[i] += 0.5f * (b[i - 1] - b[i + 1]);
    }
}
"""
CHECK = """
#include <stdio.h>
#define MOST 70001
int main(void)
{
  static const int sizes[] = {6200, 20000, MOST};
  static float a[2][MOST], b[2][MOST];
  for (int k = 0; k < 3; k++) {
    const int n = sizes[k];
    for (int i = 0; i < 2 * n; i++) {
      a[i / n][i % n] = (float)((i % n * 37 + 11) % 64) / 32 - 1;
      b[i / n][i % n] = (float)((i % n * 23 + 7) % 32) / 16;
    }
    if (ours(9, n, b[0], a[0])) return 1;
    sweeps(9, n, a[1], b[1]);
    for (int i = 0; i < n; i++)
      if (!(a[0][i] == a[1][i] && b[0][i] == b[1][i]))
        return printf("%d of %d: %g, not %g\\n", i, n, (double)a[0][i], (double)a[1][i]), 1;
  }
  return 0;
}
"""


@pytest.mark.parametrize("extension", TARGETS)
def test_segments_are_what_the_loops_are(extension: str, tmp_path: Path) -> None:
    need(extension)
    (function,) = read_c(Source("sweeps.c", TEXT)).functions
    found = prepare(function.regions[0].kernel)
    versions = segment_versions(found, load_target(TARGETS[extension]))
    assert len(versions) == 2
    for version in versions:
        text = emit_file(replace(version.kernel, name="ours"))
        run(text + TEXT + CHECK, extension, tmp_path, "-O3", "-fopenmp-simd", "-ffp-contract=off")
