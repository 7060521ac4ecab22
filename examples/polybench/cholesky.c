/* cholesky: A = L * L^T of a symmetric positive definite matrix.
   Only the lower triangle is read; L replaces it. */
#include <math.h>
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

void kernel_cholesky(int n,
                     DATA_TYPE POLYBENCH_2D(A, N, N, n, n))
{
  int i, j, k;

#pragma scop
  for (i = 0; i < _PB_N; i++)
    {
      /* j < i: below the diagonal */
      for (j = 0; j < i; j++)
        {
          for (k = 0; k < j; k++)
            A[i][j] -= A[i][k] * A[j][k];
          A[i][j] /= A[j][j];
        }
      /* i == j: the diagonal */
      for (k = 0; k < i; k++)
        A[i][i] -= A[i][k] * A[i][k];
      A[i][i] = SQRT_FUN(A[i][i]);
    }
#pragma endscop
}
