"""How exact the functions are that loops in lanes compute themselves: all bits of f32, many of f64.

    python bench/lane_functions.py           # a minute or two
    python bench/lane_functions.py 997       # one bit pattern of f32 in so many

>>> "many_f32" in HARNESS and "planish_expf" in HARNESS
True
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from planish.emit.functions import LANE_FUNCTIONS

FLAGS = ("-O3", "-march=native", "-fopenmp-simd")
MODES = ("-ffp-contract=fast", "-ffp-contract=off")

HARNESS = """\
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
FUNCTIONS
enum { BLOCK = 65536, BLOCKS = 600 };
static float x32[BLOCK], y32[BLOCK];
static double x64[BLOCK], y64[BLOCK];
static void many_f32(void)
{
  #pragma omp simd
  for (int i = 0; i < BLOCK; i++) y32[i] = planish_expf(x32[i]);
}
/* The same by blocks: those that are apart from it. */
static long many_apart(void)
{
  static float z32[BLOCK];
  long apart = 0;
  memcpy(z32, x32, sizeof z32);
  for (int i = 0; i < BLOCK; i += 64) planish_expf_64(z32 + i);
  for (int i = 0; i < BLOCK; i++)
    apart += isnan(y32[i]) ? !isnan(z32[i]) : memcmp(&y32[i], &z32[i], sizeof y32[i]) != 0;
  return apart;
}
static void many_f64(void)
{
  #pragma omp simd
  for (int i = 0; i < BLOCK; i++) y64[i] = planish_exp(x64[i]);
}
int main(int count, char **words)
{
  const uint64_t step = count > 1 ? strtoull(words[1], NULL, 10) : 1;
  double worst = 0, worst64 = 0;
  long wrong = 0;
  for (uint64_t base = 0; base < (uint64_t)1 << 32; base += BLOCK * step) {
    for (int i = 0; i < BLOCK; i++) {
      const uint32_t bits = (uint32_t)(base + (uint64_t)i * step);
      memcpy(&x32[i], &bits, sizeof bits);
    }
    many_f32();
    wrong += many_apart();
    for (int i = 0; i < BLOCK; i++) {
      const float x = x32[i], y = y32[i];
      if (isnan(x) || x > 89 || x < -105) {
        wrong += isnan(x) ? !isnan(y) : y != (x > 0 ? INFINITY : 0.0f);
        continue;
      }
      const double exact = exp((double)x);
      if (isinf((float)exact) || (float)exact == 0) {
        wrong += y != (float)exact;
        continue;
      }
      const int unit = ilogb(exact) - 23 < -149 ? -149 : ilogb(exact) - 23;
      worst = fmax(worst, fabs(y - exact) * ldexp(1, -unit));
    }
  }
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
  printf("f32 %.4f, f64 %.4f units in the last place; %ld wrong where there is no finite result or by blocks\\n",
         worst, worst64, wrong);
  return wrong > 0;
}
""".replace("FUNCTIONS", "".join(LANE_FUNCTIONS.values()))


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
