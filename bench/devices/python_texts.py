"""Functions that are called from Python on GPUs, as C: for checks on a real one, and on a fake driver.

>>> "restrict" in AXPY, "restrict" in AXPY_APART, HEAT_APART.count("restrict")
(False, True, 2)
"""

from __future__ import annotations

CONV = """void conv(int h, int w, int ld, const float *in, const float k[3][3], float *restrict out)
{
  for (int y = 0; y < h - 2; y++)
    for (int x = 0; x < w - 2; x++) {
      float sum = 0;
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          sum += in[(y + i) * ld + x + j] * k[i][j];
      out[y * (w - 2) + x] = sum;
    }
}
"""
AXPY = "void axpy(int n, float a, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] += a * x[i]; }"
HEAT = """void heat(int steps, int n, float a[n][n], float b[n][n])
{
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        b[i][j] = 0.25f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        a[i][j] = b[i][j];
  }
}
"""
DOT = """double dot(int n, const double *x, const double *y)
{
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}
"""
AXPY_APART = AXPY.replace("float *y", "float *restrict y")
HEAT_APART = HEAT.replace("a[n][n]", "a[restrict n][n]").replace("b[n][n]", "b[restrict n][n]")
