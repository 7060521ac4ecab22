/* floyd-warshall: all-pairs shortest paths, in place. */
#define DATA_TYPE_IS_INT
#include "polybench.h"

#if defined(MINI_DATASET)
# define N 60
#elif defined(SMALL_DATASET)
# define N 180
#elif defined(MEDIUM_DATASET)
# define N 500
#else /* LARGE_DATASET */
# define N 2800
#endif

#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

void kernel_floyd_warshall(int n,
                           DATA_TYPE POLYBENCH_2D(path, N, N, n, n))
{
  int i, j, k;

  /* Invariant: paths go through the nodes 0 .. k-1 only. */
  for (k = 0; k < _PB_N; k++)
    for (i = 0; i < _PB_N; i++)
      for (j = 0; j < _PB_N; j++)
        path[i][j] = path[i][j] < path[i][k] + path[k][j] ?
          path[i][j] : path[i][k] + path[k][j];
}
