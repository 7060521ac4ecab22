"""How exact the functions are that loops in lanes compute themselves: all bits of f32, many of f64.

    python -m bench.sweeps.lane_functions           # a minute or two
    python -m bench.sweeps.lane_functions 997       # one bit pattern of f32 in so many

>>> "many_f32" in HARNESS and "planish_expf" in HARNESS
True
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from planish.emit.idioms.math_functions import LANE_FUNCTIONS

FLAGS = ("-O3", "-march=native")
MODES = ("-ffp-contract=fast", "-ffp-contract=off")

HARNESS = """\
#ifdef __AVX512DQ__
#include <immintrin.h>
#endif
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
FUNCTIONS
#ifdef __AVX512DQ__
BY_BLOCKS
#endif
enum { BLOCK = 65536, BLOCKS = 600 };
static float x32[BLOCK], y32[BLOCK];
static double x64[BLOCK], y64[BLOCK];
static void many_f32(void)
{
  for (int i = 0; i < BLOCK; i++) y32[i] = planish_expf(x32[i]);
}
#ifdef __AVX512DQ__
/* The same by blocks. */
static void many_by_blocks(void)
{
  memcpy(y32, x32, sizeof y32);
  for (int i = 0; i < BLOCK; i += 64) planish_expf_64(y32 + i);
}
#endif
static void many_f64(void)
{
  for (int i = 0; i < BLOCK; i++) y64[i] = planish_exp(x64[i]);
}
/* The worst of one bit pattern in so many. */
static double worst_f32(void (*many)(void), uint64_t step, long *wrong)
{
  double worst = 0;
  for (uint64_t base = 0; base < (uint64_t)1 << 32; base += BLOCK * step) {
    for (int i = 0; i < BLOCK; i++) {
      const uint32_t bits = (uint32_t)(base + (uint64_t)i * step);
      memcpy(&x32[i], &bits, sizeof bits);
    }
    many();
    for (int i = 0; i < BLOCK; i++) {
      const float x = x32[i], y = y32[i];
      if (isnan(x) || x > 89 || x < -105) {
        *wrong += isnan(x) ? !isnan(y) : y != (x > 0 ? INFINITY : 0.0f);
        continue;
      }
      const double exact = exp((double)x);
      if (isinf((float)exact) || (float)exact == 0) {
        *wrong += y != (float)exact;
        continue;
      }
      const int unit = ilogb(exact) - 23 < -149 ? -149 : ilogb(exact) - 23;
      worst = fmax(worst, fabs(y - exact) * ldexp(1, -unit));
    }
  }
  return worst;
}
int main(int count, char **words)
{
  const uint64_t step = count > 1 ? strtoull(words[1], NULL, 10) : 1;
  long wrong = 0;
  const double worst = worst_f32(many_f32, step, &wrong);
#ifdef __AVX512DQ__
  const double worst_by_blocks = worst_f32(many_by_blocks, step, &wrong);
#else
  const double worst_by_blocks = 0;
#endif
  double worst64 = 0;
  uint64_t state = 88172645463325252u;
  for (int block = 0; block < BLOCKS; block++) {
    const double widths[] = {1500, 40, 2, 1e-6};
    for (int i = 0; i < BLOCK; i++) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      x64[i] = ((double)(state >> 11) * 0x1p-53 - 0.5) * widths[block % 4];
    }
    many_f64();
    for (int i = 0; i < BLOCK; i++) {
      const long double exact = expl((long double)x64[i]);
      if (isinf((double)exact) || (double)exact == 0) {
        wrong += y64[i] != (double)exact;
        continue;
      }
      const int unit = ilogbl(exact) - 52 < -1074 ? -1074 : ilogbl(exact) - 52;
      worst64 = fmax(worst64, (double)(fabsl(y64[i] - exact) * ldexpl(1, -unit)));
    }
  }
  printf("f32 %.4f, by blocks %.4f, f64 %.4f units in the last place; %ld wrong where there is no finite result\\n",
         worst, worst_by_blocks, worst64, wrong);
  return wrong > 0;
}
"""
BLOCK = "planish_expf_64"
HARNESS = HARNESS.replace("FUNCTIONS", "".join(y for x, y in LANE_FUNCTIONS.items() if x != BLOCK))
HARNESS = HARNESS.replace("BY_BLOCKS", LANE_FUNCTIONS[BLOCK])


def main(arguments: Sequence[str]) -> int:
    """0 where no result is wrong."""
    with tempfile.TemporaryDirectory(prefix="planish-functions-") as folder:
        source, program = Path(folder) / "harness.c", Path(folder) / "harness"
        source.write_text(HARNESS)
        worst = 0
        for mode in MODES:
            subprocess.run(["gcc", *FLAGS, mode, str(source), "-o", str(program), "-lm"], check=True)
            print(f"exp in lanes, {mode}: ", end="", flush=True)
            worst |= subprocess.run([str(program), *arguments], check=False).returncode
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
