/* Programs into whose kernels faults are planted. */
void scale_rows(int rows, int cols, int pitch, double factor, double *m)
{
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++)
      m[r * pitch + c] = m[r * pitch + c] * factor + r - c;
}

void smooth(int n, int steps, float *restrict a, float *restrict b)
{
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      b[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
    for (int i = 1; i < n - 1; i++)
      a[i] = b[i];
  }
}

void product(int n, int m, int l, const float *a, int lda, const float *restrict b, float *restrict c)
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < l; k++)
        c[i * m + j] += a[i * lda + k] * b[k * m + j];
}
