/* ludcmp: solves A*x = b by LU factorisation (no pivoting) followed by
   forward and back substitution. */
#include "polybench.h"

#if defined(MINI_DATASET)
# define N 40
#elif defined(SMALL_DATASET)
# define N 120
#elif defined(MEDIUM_DATASET)
# define N 400
#else /* LARGE_DATASET */
# define N 2000
#endif

#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

void kernel_ludcmp(int n,
                   DATA_TYPE A[N][N],
                   DATA_TYPE b[N],
                   DATA_TYPE x[N],
                   DATA_TYPE y[N])
{
  int i, j, k;

  DATA_TYPE w;

  /* factorise */
  for (i = 0; i < _PB_N; i++)
    {
      for (j = 0; j < i; j++)
        {
          w = A[i][j];
          for (k = 0; k < j; k++)
            w -= A[i][k] * A[k][j];
          A[i][j] = w / A[j][j];
        }
      for (j = i; j < _PB_N; j++)
        {
          w = A[i][j];
          for (k = 0; k < i; k++)
            w -= A[i][k] * A[k][j];
          A[i][j] = w;
        }
    }

  /* L*y = b */
  for (i = 0; i < _PB_N; i++)
    {
      w = b[i];
      for (j = 0; j < i; j++)
        w -= A[i][j] * y[j];
      y[i] = w;
    }

  /* U*x = y */
  for (i = _PB_N - 1; i >= 0; i--)
    {
      w = y[i];
      for (j = i + 1; j < _PB_N; j++)
        w -= A[i][j] * x[j];
      x[i] = w / A[i][i];
    }
}
