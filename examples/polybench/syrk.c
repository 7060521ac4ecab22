/* syrk: C := alpha*A*A^T + beta*C, lower triangle only. */

#if defined(MINI_DATASET)
# define M 20
# define N 30
#elif defined(SMALL_DATASET)
# define M 60
# define N 80
#elif defined(MEDIUM_DATASET)
# define M 200
# define N 240
#else /* LARGE_DATASET */
# define M 1000
# define N 1200
#endif

void kernel_syrk(int n, int m,
                 double alpha,
                 double beta,
                 double C[N][N],
                 double A[N][M])
{
  int i, j, k;

  for (i = 0; i < n; i++)
    {
      for (j = 0; j <= i; j++)
        C[i][j] *= beta;
      for (k = 0; k < m; k++)
        {
          /* row i of the lower triangle */
          for (j = 0; j <= i; j++)
            C[i][j] += alpha * A[i][k] * A[j][k];
        }
    }
}
