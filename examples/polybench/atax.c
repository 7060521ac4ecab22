/* atax: y := A^T * (A * x), A being M x N. */

#if defined(MINI_DATASET)
# define M 38
# define N 42
#elif defined(SMALL_DATASET)
# define M 116
# define N 124
#elif defined(MEDIUM_DATASET)
# define M 390
# define N 410
#else /* LARGE_DATASET */
# define M 1900
# define N 2100
#endif

void kernel_atax(int m, int n,
                 double A[M][N],
                 double x[N],
                 double y[N],
                 double tmp[M])
{
  int i, j;

  for (i = 0; i < n; i++)
    y[i] = 0;
  for (i = 0; i < m; i++)
    {
      tmp[i] = 0.0;
      /* one element of A*x ... */
      for (j = 0; j < n; j++)
        tmp[i] = tmp[i] + A[i][j] * x[j];
      /* ... scattered along the same row of A */
      for (j = 0; j < n; j++)
        y[j] = y[j] + A[i][j] * tmp[i];
    }
}
