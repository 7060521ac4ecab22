/* The sum of each row. */
void row_sums(int n, int m, const float a[n][m], float *restrict sums)
{
  for (int i = 0; i < n; i++) {
    float sum = 0;
    for (int j = 0; j < m; j++)
      sum += a[i][j];
    sums[i] = sum;
  }
}
