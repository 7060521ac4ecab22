/* trisolv: forward substitution, L*x = b with L lower triangular. */

#if defined(MINI_DATASET)
# define N 40
#elif defined(SMALL_DATASET)
# define N 120
#elif defined(MEDIUM_DATASET)
# define N 400
#else /* LARGE_DATASET */
# define N 2000
#endif

void kernel_trisolv(int n,
                    double L[N][N],
                    double x[N],
                    double b[N])
{
  int i, j;

  for (i = 0; i < n; i++)
    {
      x[i] = b[i];
      // subtract what the solved unknowns contribute
      for (j = 0; j < i; j++)
        x[i] -= L[i][j] * x[j];
      x[i] = x[i] / L[i][i];
    }
}
