"""C files whose rows are made by teams of threads, and whose transpositions are in tiles, beside the originals."""

from __future__ import annotations

import pytest

from planish.build.device_checks import build_for_device
from planish.core.span import Source
from planish.ir.types import Floats
from planish.options import Options
from planish.run.devices.emulator import find_emulating_compiler
from planish.target.device import load_device

pytestmark = pytest.mark.skipif(find_emulating_compiler() is None, reason="no compiler of C++ is here")

SOURCES: dict[str, tuple[Floats, str]] = {
    "softmax": ("reassociate", """
#include <math.h>
void softmax(int n, int m, const float x[n][m], float y[restrict n][m])
{
  for (int i = 0; i < n; i++) {
    float top = x[i][0];
    for (int j = 1; j < m; j++)
      top = x[i][j] > top ? x[i][j] : top;
    float sum = 0;
    for (int j = 0; j < m; j++) {
      y[i][j] = expf(x[i][j] - top);
      sum += y[i][j];
    }
    for (int j = 0; j < m; j++)
      y[i][j] /= sum;
  }
}"""),
    "norm": ("reassociate", """
#include <math.h>
void norm(long rows, long len, const double *x, long ld, const double *restrict gain, double *restrict out)
{
  for (long r = 0; r < rows; r++) {
    double mean = 0, var = 0;
    for (long c = 0; c < len; c++)
      mean += x[r * ld + c];
    mean /= len;
    for (long c = 0; c < len; c++)
      var += (x[r * ld + c] - mean) * (x[r * ld + c] - mean);
    for (long c = 0; c < len; c++)
      out[r * ld + c] = gain[c] * (x[r * ld + c] - mean) / sqrt(var / len + 1e-5);
  }
}"""),
    "counts": ("strict", """
void counts(int n, int m, const short *restrict a, int *restrict most, long long *restrict sum)
{
  for (int i = 0; i < n; i++) {
    most[i] = -100000;
    sum[i] = i;
    for (int j = 0; j < m; j++) {
      if (a[i * m + j] > most[i])
        most[i] = a[i * m + j];
    }
    for (int j = 0; j < m; j++)
      sum[i] += a[i * m + j] * (j + 1);
  }
}"""),
    "permuted": ("strict", """
void permuted(int n, int c, int h, int w, const unsigned char in[n][c][h][w], unsigned char out[restrict n][h][w][c])
{
  for (int i = 0; i < n; i++)
    for (int p = 0; p < c; p++)
      for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
          out[i][y][x][p] = in[i][p][y][x];
}"""),
    "gradient": ("reassociate", """
void gradient(int rows, int cols, const float g[rows][cols], const float *w, float *restrict back, float *restrict bias)
{
  for (int c = 0; c < cols; c++)
    bias[c] = 0;
  for (int r = 0; r < rows; r++) {
    float sum = 0;
    for (int c = 0; c < cols; c++)
      sum += g[r][c] * w[c];
    back[r] = sum;
    for (int c = 0; c < cols; c++)
      bias[c] += g[r][c] * sum;
  }
}"""),
    "columns": ("strict", """
void columns(int n, int m, const int *a, int lda, long long *restrict s)
{
  for (int j = 0; j < m; j++) {
    long long sum = 5;
    for (int i = 0; i < n; i++)
      sum += a[i * lda + j];
    s[j] = sum;
  }
}"""),
    "scaled": ("strict", """
void scaled(int n, int m, double alpha, const double *a, int lda, double *restrict b, int ldb)
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      b[j * ldb + i] = b[j * ldb + i] * 0.5 + alpha * a[i * lda + j];
}"""),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_kernels_compute_the_same_in_every_order(name: str) -> None:
    fp, text = SOURCES[name]
    built = build_for_device(Source(f"{name}.c", text), Options(fp=fp), load_device("cuda-sm90"))
    assert built.used and not built.wrong and built.calls >= 10, built.remarks
    assert all(x.version.startswith("device-tiles") for x in built.nests)
    assert all(x.spilled == 0 for x in built.usage.values())


def test_sums_of_floats_keep_their_order_where_that_is_asked_for() -> None:
    built = build_for_device(
        Source("softmax.c", SOURCES["softmax"][1]), Options(fp="strict"), load_device("cuda-sm90"), orders=(2,)
    )  # fmt: skip
    assert built.used and all(x.version.startswith("device-threads") for x in built.nests)
