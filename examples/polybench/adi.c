/* adi: alternating direction implicit solver of the 2-D heat equation.
   Each half step solves one tridiagonal system per line (Thomas algorithm);
   p and q hold the coefficients of the forward elimination. */
#include "polybench.h"

#if defined(MINI_DATASET)
# define TSTEPS 20
# define N 20
#elif defined(SMALL_DATASET)
# define TSTEPS 40
# define N 60
#elif defined(MEDIUM_DATASET)
# define TSTEPS 100
# define N 200
#else /* LARGE_DATASET */
# define TSTEPS 500
# define N 1000
#endif

#define _PB_TSTEPS POLYBENCH_LOOP_BOUND(TSTEPS, tsteps)
#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

void kernel_adi(int tsteps, int n,
                DATA_TYPE POLYBENCH_2D(u, N, N, n, n),
                DATA_TYPE POLYBENCH_2D(v, N, N, n, n),
                DATA_TYPE POLYBENCH_2D(p, N, N, n, n),
                DATA_TYPE POLYBENCH_2D(q, N, N, n, n))
{
  int t, i, j;
  DATA_TYPE DX, DY, DT;
  DATA_TYPE B1, B2;
  DATA_TYPE mul1, mul2;
  DATA_TYPE a, b, c, d, e, f;

#pragma scop
  DX = SCALAR_VAL(1.0) / (DATA_TYPE)_PB_N;
  DY = SCALAR_VAL(1.0) / (DATA_TYPE)_PB_N;
  DT = SCALAR_VAL(1.0) / (DATA_TYPE)_PB_TSTEPS;
  B1 = SCALAR_VAL(2.0);
  B2 = SCALAR_VAL(1.0);
  mul1 = B1 * DT / (DX * DX);
  mul2 = B2 * DT / (DY * DY);

  /* (a, b, c) and (d, e, f): the constant bands of the two systems */
  a = -mul1 / SCALAR_VAL(2.0);
  b = SCALAR_VAL(1.0) + mul1;
  c = a;
  d = -mul2 / SCALAR_VAL(2.0);
  e = SCALAR_VAL(1.0) + mul2;
  f = d;

  for (t = 1; t <= _PB_TSTEPS; t++)
    {
      /* column sweep: u -> v */
      for (i = 1; i < _PB_N - 1; i++)
        {
          v[0][i] = SCALAR_VAL(1.0);
          p[i][0] = SCALAR_VAL(0.0);
          q[i][0] = v[0][i];
          for (j = 1; j < _PB_N - 1; j++)
            {
              p[i][j] = -c / (a * p[i][j-1] + b);
              q[i][j] = (-d * u[j][i-1]
                         + (SCALAR_VAL(1.0) + SCALAR_VAL(2.0) * d) * u[j][i]
                         - f * u[j][i+1] - a * q[i][j-1])
                        / (a * p[i][j-1] + b);
            }

          v[_PB_N-1][i] = SCALAR_VAL(1.0);
          for (j = _PB_N - 2; j >= 1; j--)
            v[j][i] = p[i][j] * v[j+1][i] + q[i][j];
        }
      /* row sweep: v -> u */
      for (i = 1; i < _PB_N - 1; i++)
        {
          u[i][0] = SCALAR_VAL(1.0);
          p[i][0] = SCALAR_VAL(0.0);
          q[i][0] = u[i][0];
          for (j = 1; j < _PB_N - 1; j++)
            {
              p[i][j] = -f / (d * p[i][j-1] + e);
              q[i][j] = (-a * v[i-1][j]
                         + (SCALAR_VAL(1.0) + SCALAR_VAL(2.0) * a) * v[i][j]
                         - c * v[i+1][j] - d * q[i][j-1])
                        / (d * p[i][j-1] + e);
            }

          u[i][_PB_N-1] = SCALAR_VAL(1.0);
          for (j = _PB_N - 2; j >= 1; j--)
            u[i][j] = p[i][j] * u[i][j+1] + q[i][j];
        }
    }
#pragma endscop
}
