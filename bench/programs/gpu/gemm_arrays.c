/* C = A B on arrays of two dimensions. */
void gemm_arrays(int m, int n, int k, const float a[m][k], const float b[k][n], float c[restrict m][n])
{
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      c[i][j] = 0;
      for (int l = 0; l < k; l++)
        c[i][j] += a[i][l] * b[l][j];
    }
}
