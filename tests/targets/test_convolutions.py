"""Whole convolutions, made for each target from one text, run where its instructions are beside the plain loops."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.targets.test_microkernels import need, run

from planish.emit.kernel_file import emit_file
from planish.ir.types import F32
from planish.isa.shipped import shipped
from planish.library.convolution import choose_shape, make_convolution
from planish.library.gemm.window import Window
from planish.library.maker import Maker
from planish.library.vectors import find_vectors
from planish.target.load import load_target

TARGETS = {"avx2": "x86-avx2", "neon": "aarch64-neon"}
WINDOW = Window((3, 2), (2, 1), (1, 2))
SIZES = ((33, 3, 2, 21), (8, 5, 3, 9), (48, 2, 1, 1), (1, 1, 4, 70))
CHECK = """
#include <stdio.h>
#include <stdlib.h>
static unsigned state = 1;
/* Small numbers, so that sums are exact in whatever order. */
static float *fill(long count)
{
  float *out = malloc(sizeof(float) * (size_t)count);
  for (long i = 0; i < count; i++) out[i] = (float)((int)((state = state * 1103515245u + 12345u) >> 16) % 16 - 8) / 4;
  return out;
}
static int check(long nf, long nc, long oh, long ow)
{
  const long ih = 2 * oh + 1, iw = ow + 2;
  float *x = fill(nc * ih * iw), *w = fill(nf * nc * 6), *o = fill(nf * oh * ow);
  if (NAME(nf, nc, oh, ow, ih, iw, 6 * nc, oh, ow, (void *)x, (void *)w, (void *)o) != 0) return 1;
  for (long f = 0; f < nf; f++)
    for (long y = 0; y < oh; y++)
      for (long i = 0; i < ow; i++) {
        float sum = 0;
        for (long c = 0; c < nc; c++)
          for (long r = 0; r < 3; r++)
            for (long s = 0; s < 2; s++)
              sum += x[(c * ih + 2 * y + r) * iw + i + 2 * s] * w[((f * nc + c) * 3 + r) * 2 + s];
        const float got = o[(f * oh + y) * ow + i];
        if (got != sum) return printf("%ld, %ld, %ld: %g, not %g\\n", f, y, i, (double)got, (double)sum), 1;
      }
  return 0;
}
"""


@pytest.mark.parametrize("extension", TARGETS)
def test_a_convolution_is_what_its_loops_are(extension: str, tmp_path: Path) -> None:
    need(extension)
    shape = choose_shape(find_vectors(extension, F32), WINDOW, load_target(TARGETS[extension]), first=True)
    whole, made = make_convolution(shape, Maker())
    text = emit_file(whole.implementation, catalogue=shipped().with_instructions(made))
    calls = " || ".join(f"check({', '.join(map(str, x))})" for x in SIZES)
    check = CHECK.replace("NAME", whole.name)
    run(f"{text}{check}\nint main(void)\n{{\n  return {calls};\n}}\n", extension, tmp_path)
