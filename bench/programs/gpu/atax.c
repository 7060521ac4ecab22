/* y = A^T (A x). */
void atax(int m, int n, const float a[m][n], const float *x, float *restrict y, float *restrict tmp)
{
  for (int j = 0; j < n; j++)
    y[j] = 0;
  for (int i = 0; i < m; i++) {
    tmp[i] = 0;
    for (int j = 0; j < n; j++)
      tmp[i] += a[i][j] * x[j];
    for (int j = 0; j < n; j++)
      y[j] += a[i][j] * tmp[i];
  }
}
