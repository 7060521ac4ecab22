/* C = A B^T. */
void gemm_tb(int m, int n, int k, const float a[m][k], const float b[n][k], float c[restrict m][n])
{
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int l = 0; l < k; l++)
        sum += a[i][l] * b[j][l];
      c[i][j] = sum;
    }
}
