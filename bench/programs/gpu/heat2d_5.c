/* One step of heat on a plane, five points. */
void heat2d_5(int n, int m, const float a[n][m], float b[restrict n][m])
{
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++)
      b[i][j] = 0.5f * a[i][j] + 0.125f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}
