/* gesummv: y := alpha*A*x + beta*B*x. */
#include "polybench.h"

#if defined(MINI_DATASET)
# define N 30
#elif defined(SMALL_DATASET)
# define N 90
#elif defined(MEDIUM_DATASET)
# define N 250
#else /* LARGE_DATASET */
# define N 1300
#endif

#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

void kernel_gesummv(int n,
                    DATA_TYPE alpha,
                    DATA_TYPE beta,
                    DATA_TYPE A[N][N],
                    DATA_TYPE B[N][N],
                    DATA_TYPE tmp[N],
                    DATA_TYPE x[N],
                    DATA_TYPE y[N])
{
  int i, j;

#pragma scop
  for (i = 0; i < _PB_N; i++)
    {
      tmp[i] = SCALAR_VAL(0.0);
      y[i] = SCALAR_VAL(0.0);
      for (j = 0; j < _PB_N; j++)
        {
          tmp[i] = A[i][j] * x[j] + tmp[i];
          y[i] = B[i][j] * x[j] + y[i];
        }
      y[i] = alpha * tmp[i] + beta * y[i]; /* combine both products */
    }
#pragma endscop
}
