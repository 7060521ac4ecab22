/* lu: A = L*U without pivoting, in place (unit diagonal of L not stored). */
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

void kernel_lu(int n,
               DATA_TYPE POLYBENCH_2D(A, N, N, n, n))
{
  int i, j, k;

#pragma scop
  for (i = 0; i < _PB_N; i++)
    {
      /* row i of L */
      for (j = 0; j < i; j++)
        {
          for (k = 0; k < j; k++)
            A[i][j] -= A[i][k] * A[k][j];
          A[i][j] /= A[j][j];
        }
      /* row i of U */
      for (j = i; j < _PB_N; j++)
        for (k = 0; k < i; k++)
          A[i][j] -= A[i][k] * A[k][j];
    }
#pragma endscop
}
