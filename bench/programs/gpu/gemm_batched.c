/* Many small products. */
void gemm_batched(int count, int n, const float a[count][n][n], const float b[count][n][n],
                  float c[restrict count][n][n])
{
  for (int p = 0; p < count; p++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        float sum = 0;
        for (int l = 0; l < n; l++)
          sum += a[p][i][l] * b[p][l][j];
        c[p][i][j] = sum;
      }
}
