/* gemm: C := alpha*A*B + beta*C, A being NI x NK and B NK x NJ. */
#include "polybench.h"

#if defined(MINI_DATASET)
# define NI 20
# define NJ 25
# define NK 30
#elif defined(SMALL_DATASET)
# define NI 60
# define NJ 70
# define NK 80
#elif defined(MEDIUM_DATASET)
# define NI 200
# define NJ 220
# define NK 240
#else /* LARGE_DATASET */
# define NI 1000
# define NJ 1100
# define NK 1200
#endif

#define _PB_NI POLYBENCH_LOOP_BOUND(NI, ni)
#define _PB_NJ POLYBENCH_LOOP_BOUND(NJ, nj)
#define _PB_NK POLYBENCH_LOOP_BOUND(NK, nk)

void kernel_gemm(int ni, int nj, int nk,
                 DATA_TYPE alpha,
                 DATA_TYPE beta,
                 DATA_TYPE C[NI][NJ],
                 DATA_TYPE A[NI][NK],
                 DATA_TYPE B[NK][NJ])
{
  int i, j, k;

#pragma scop
  for (i = 0; i < _PB_NI; i++)
    {
      /* scale one row of C, ... */
      for (j = 0; j < _PB_NJ; j++)
        C[i][j] *= beta;
      /* ... then add the rows of B to it */
      for (k = 0; k < _PB_NK; k++)
        for (j = 0; j < _PB_NJ; j++)
          C[i][j] += alpha * A[i][k] * B[k][j];
    }
#pragma endscop
}
