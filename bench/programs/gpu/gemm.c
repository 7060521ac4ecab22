/* C = A B, row by row, with leading dimensions. */
void gemm(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float *restrict c, int ldc)
{
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int l = 0; l < k; l++)
        sum += a[i * lda + l] * b[l * ldb + j];
      c[i * ldc + j] = sum;
    }
}
