/* C = alpha A B + beta C. */
void gemm_scaled(int m, int n, int k, float alpha, const float a[m][k], const float b[k][n], float beta,
                 float c[restrict m][n])
{
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int l = 0; l < k; l++)
        sum += a[i][l] * b[l][j];
      c[i][j] = alpha * sum + beta * c[i][j];
    }
}
