/* mvt: x1 := x1 + A*y_1 and x2 := x2 + A^T*y_2. */

#if defined(MINI_DATASET)
# define N 40
#elif defined(SMALL_DATASET)
# define N 120
#elif defined(MEDIUM_DATASET)
# define N 400
#else /* LARGE_DATASET */
# define N 2000
#endif

void kernel_mvt(int n,
                double x1[N],
                double x2[N],
                double y_1[N],
                double y_2[N],
                double A[N][N])
{
  int i, j;

  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++)
      x1[i] = x1[i] + A[i][j] * y_1[j];
  // the same matrix, by columns
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++)
      x2[i] = x2[i] + A[j][i] * y_2[j];
}
