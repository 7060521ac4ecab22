/* fdtd-2d: finite-difference time-domain simulation of a 2-D
   electromagnetic field; _fict_ drives the first row of ey. */
#include "polybench.h"

#if defined(MINI_DATASET)
# define TMAX 20
# define NX 20
# define NY 30
#elif defined(SMALL_DATASET)
# define TMAX 40
# define NX 60
# define NY 80
#elif defined(MEDIUM_DATASET)
# define TMAX 100
# define NX 200
# define NY 240
#else /* LARGE_DATASET */
# define TMAX 500
# define NX 1000
# define NY 1200
#endif

#define _PB_TMAX POLYBENCH_LOOP_BOUND(TMAX, tmax)
#define _PB_NX POLYBENCH_LOOP_BOUND(NX, nx)
#define _PB_NY POLYBENCH_LOOP_BOUND(NY, ny)

void kernel_fdtd_2d(int tmax, int nx, int ny,
                    DATA_TYPE ex[NX][NY],
                    DATA_TYPE ey[NX][NY],
                    DATA_TYPE hz[NX][NY],
                    DATA_TYPE _fict_[TMAX])
{
  int t, i, j;

#pragma scop
  for (t = 0; t < _PB_TMAX; t++)
    {
      /* source row */
      for (j = 0; j < _PB_NY; j++)
        ey[0][j] = _fict_[t];
      /* electric field */
      for (i = 1; i < _PB_NX; i++)
        for (j = 0; j < _PB_NY; j++)
          ey[i][j] = ey[i][j] - SCALAR_VAL(0.5) * (hz[i][j] - hz[i-1][j]);
      for (i = 0; i < _PB_NX; i++)
        for (j = 1; j < _PB_NY; j++)
          ex[i][j] = ex[i][j] - SCALAR_VAL(0.5) * (hz[i][j] - hz[i][j-1]);
      /* magnetic field */
      for (i = 0; i < _PB_NX - 1; i++)
        for (j = 0; j < _PB_NY - 1; j++)
          hz[i][j] = hz[i][j] - SCALAR_VAL(0.7) * (ex[i][j+1] - ex[i][j]
                                                   + ey[i+1][j] - ey[i][j]);
    }
#pragma endscop
}
