/* C = A^T B. */
void gemm_ta(int m, int n, int k, const float a[k][m], const float b[k][n], float c[restrict m][n])
{
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int l = 0; l < k; l++)
        sum += a[l][i] * b[l][j];
      c[i][j] = sum;
    }
}
