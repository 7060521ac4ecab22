/* syr2k: C := alpha*A*B^T + alpha*B*A^T + beta*C, lower triangle only. */
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

void kernel_syr2k(int n, int m,
                  DATA_TYPE alpha,
                  DATA_TYPE beta,
                  DATA_TYPE C[N][N],
                  DATA_TYPE A[N][M],
                  DATA_TYPE B[N][M])
{
  int i, j, k;

  for (i = 0; i < _PB_N; i++)
    {
      for (j = 0; j <= i; j++)
        C[i][j] *= beta;
      /* two rank-1 updates per k */
      for (k = 0; k < _PB_M; k++)
        for (j = 0; j <= i; j++)
          C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k];
    }
}
