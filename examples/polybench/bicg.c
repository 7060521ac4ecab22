/* bicg: the two products of the BiCG method, s := A^T * r and q := A * p. */
#include "polybench.h"

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

#define _PB_M POLYBENCH_LOOP_BOUND(M, m)
#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

void kernel_bicg(int m, int n,
                 DATA_TYPE A[N][M],
                 DATA_TYPE s[M],
                 DATA_TYPE q[N],
                 DATA_TYPE p[M],
                 DATA_TYPE r[N])
{
  int i, j;

  for (i = 0; i < _PB_M; i++)
    s[i] = 0;
  for (i = 0; i < _PB_N; i++)
    {
      q[i] = SCALAR_VAL(0.0);
      for (j = 0; j < _PB_M; j++)
        {
          s[j] = s[j] + r[i] * A[i][j];  // transposed product
          q[i] = q[i] + A[i][j] * p[j];  // plain product
        }
    }
}
