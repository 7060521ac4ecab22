/* B = A^T. */
void transpose(int n, int m, const float a[n][m], float b[restrict m][n])
{
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      b[i][j] = a[j][i];
}
