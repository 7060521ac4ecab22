/* Products of many small matrices whose columns lie in memory, one after the other. */
void gemm_columns(int total, int m, int n, int k, const float *left, const float *right, float *restrict to)
{
  for (int t = 0; t < total; t++)
    for (int col = 0; col < n; col++)
      for (int row = 0; row < m; row++) {
        float s = 0;
        for (int x = 0; x < k; x++)
          s += left[(t * k + x) * m + row] * right[(t * n + col) * k + x];
        to[(t * n + col) * m + row] = 0.5f * s;
      }
}
