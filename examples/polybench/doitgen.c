/* doitgen: multiresolution analysis kernel (MADNESS).
   A[r][q][:] := A[r][q][:] * C4, in place through the row buffer sum. */
#include "polybench.h"

#if defined(MINI_DATASET)
# define NQ 8
# define NR 10
# define NP 12
#elif defined(SMALL_DATASET)
# define NQ 20
# define NR 25
# define NP 30
#elif defined(MEDIUM_DATASET)
# define NQ 40
# define NR 50
# define NP 60
#else /* LARGE_DATASET */
# define NQ 140
# define NR 150
# define NP 160
#endif

#define _PB_NR POLYBENCH_LOOP_BOUND(NR, nr)
#define _PB_NQ POLYBENCH_LOOP_BOUND(NQ, nq)
#define _PB_NP POLYBENCH_LOOP_BOUND(NP, np)

void kernel_doitgen(int nr, int nq, int np,
                    DATA_TYPE POLYBENCH_3D(A, NR, NQ, NP, nr, nq, np),
                    DATA_TYPE POLYBENCH_2D(C4, NP, NP, np, np),
                    DATA_TYPE POLYBENCH_1D(sum, NP, np))
{
  int r, q, p, s;

#pragma scop
  for (r = 0; r < _PB_NR; r++)
    for (q = 0; q < _PB_NQ; q++)
      {
        for (p = 0; p < _PB_NP; p++)
          {
            sum[p] = SCALAR_VAL(0.0);
            for (s = 0; s < _PB_NP; s++)
              sum[p] += A[r][q][s] * C4[s][p];
          }
        /* the whole row has been read: overwrite it */
        for (p = 0; p < _PB_NP; p++)
          A[r][q][p] = sum[p];
      }
#pragma endscop
}
