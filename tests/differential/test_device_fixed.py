"""C files whose sizes are constants for GPUs: blocks of which there is one, and versions that are never needed."""

from __future__ import annotations

import pytest

from planish.build.device_checks import build_for_device
from planish.core.span import Source
from planish.options import Options
from planish.run.devices.emulator import find_emulating_compiler
from planish.target.device import load_device

pytestmark = pytest.mark.skipif(find_emulating_compiler() is None, reason="no compiler of C++ is here")

TEXT = """
void whole(float a[64][64], float b[64][64])
{
  for (int i = 0; i < 64; i++)
    for (int j = 0; j < 64; j++)
      b[i][j] = a[i][j] * 2;
}
void little(float a[20][20], float b[20][20])
{
  for (int i = 1; i < 19; i++)
    for (int j = 1; j < 20; j++)
      b[i][j] = a[i + 1][j] + a[i - 1][j - 1];
}
void turned(float a[32][96], float b[96][32])
{
  for (int i = 0; i < 96; i++)
    for (int j = 0; j < 32; j++)
      b[i][j] = a[j][i] * 2;
}
void line(float a[2048], float b[2048])
{
  for (int i = 0; i < 2048; i++)
    b[i] = a[i] * 2;
}
void shares(int n, float a[n][100])
{
  for (int i = 0; i < n; i++) {
    float sum = 0;
    for (int j = 0; j < 100; j++)
      sum += a[i][j];
    for (int j = 0; j < 100; j++)
      a[i][j] /= sum;
  }
}
"""


def test_constant_sizes() -> None:
    built = build_for_device(Source("fixed.c", TEXT), Options(), load_device("cuda-sm90"), orders=(2,))
    assert len(built.used) == len(built.nests) == 5 and not built.wrong, built.remarks
    told = " ".join(x.message for nest in built.nests for x in nest.remarks)
    assert "each with 4 of `i`" in told and "256 threads, each with 4" in told and "`a` in registers" in told
