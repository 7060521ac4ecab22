/* Pairs of steps of heat on a plane, nine points. */
void heat2d_9_steps(int steps, int n, float a[restrict n][n], float b[restrict n][n])
{
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        b[i][j] = 0.25f * a[i][j] + 0.125f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1])
                  + 0.0625f * (a[i - 1][j - 1] + a[i - 1][j + 1] + a[i + 1][j - 1] + a[i + 1][j + 1]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        a[i][j] = 0.25f * b[i][j] + 0.125f * (b[i - 1][j] + b[i + 1][j] + b[i][j - 1] + b[i][j + 1])
                  + 0.0625f * (b[i - 1][j - 1] + b[i - 1][j + 1] + b[i + 1][j - 1] + b[i + 1][j + 1]);
  }
}
