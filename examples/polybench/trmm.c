/* trmm: B := alpha*A^T*B in place, A unit lower triangular. */
#include "polybench.h"

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

#define _PB_M POLYBENCH_LOOP_BOUND(M, m)
#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

void kernel_trmm(int m, int n,
                 DATA_TYPE alpha,
                 DATA_TYPE A[M][M],
                 DATA_TYPE B[M][N])
{
  int i, j, k;

  /* Row i needs the rows below it, which are still unchanged. */
  for (i = 0; i < _PB_M; i++)
    for (j = 0; j < _PB_N; j++)
      {
        for (k = i + 1; k < _PB_M; k++)
          B[i][j] += A[k][i] * B[k][j];
        B[i][j] = alpha * B[i][j];
      }
}
