/* durbin: Levinson-Durbin solver of the Yule-Walker equations T*y = -r,
   T being the symmetric Toeplitz matrix with first row (1, r[0], r[1], ...). */
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

void kernel_durbin(int n,
                   DATA_TYPE POLYBENCH_1D(r, N, n),
                   DATA_TYPE POLYBENCH_1D(y, N, n))
{
  DATA_TYPE z[N];
  DATA_TYPE alpha;
  DATA_TYPE beta;
  DATA_TYPE sum;

  int i, k;

#pragma scop
  y[0] = -r[0];
  beta = SCALAR_VAL(1.0);
  alpha = -r[0];

  for (k = 1; k < _PB_N; k++)
    {
      beta = (1 - alpha * alpha) * beta;  /* prediction error */
      sum = SCALAR_VAL(0.0);
      for (i = 0; i < k; i++)
        sum += r[k-i-1] * y[i];
      alpha = -(r[k] + sum) / beta;       /* reflection coefficient */

      for (i = 0; i < k; i++)
        z[i] = y[i] + alpha * y[k-i-1];
      for (i = 0; i < k; i++)
        y[i] = z[i];
      y[k] = alpha;
    }
#pragma endscop
}
