/* nussinov: RNA secondary structure prediction by dynamic programming.
   Bases are coded 0..3 so that the complementary pairs add up to 3;
   table[i][j] is the largest number of pairs within seq[i..j]. */
#define DATA_TYPE_IS_INT
#include "polybench.h"

#if defined(MINI_DATASET)
# define N 60
#elif defined(SMALL_DATASET)
# define N 180
#elif defined(MEDIUM_DATASET)
# define N 500
#else /* LARGE_DATASET */
# define N 2500
#endif

#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

typedef char base;

#define match(b1, b2) (((b1) + (b2)) == 3 ? 1 : 0)
#define max_score(s1, s2) ((s1 >= s2) ? s1 : s2)

void kernel_nussinov(int n,
                     base POLYBENCH_1D(seq, N, n),
                     DATA_TYPE POLYBENCH_2D(table, N, N, n, n))
{
  int i, j, k;

#pragma scop
  for (i = _PB_N - 1; i >= 0; i--)
    {
      for (j = i + 1; j < _PB_N; j++)
        {
          /* base j, or base i, unpaired */
          if (j - 1 >= 0)
            table[i][j] = max_score(table[i][j], table[i][j-1]);
          if (i + 1 < _PB_N)
            table[i][j] = max_score(table[i][j], table[i+1][j]);

          if (j - 1 >= 0 && i + 1 < _PB_N)
            {
              /* neighbours cannot pair */
              if (i < j - 1)
                table[i][j] = max_score(table[i][j], table[i+1][j-1] + match(seq[i], seq[j]));
              else
                table[i][j] = max_score(table[i][j], table[i+1][j-1]);
            }

          /* split into two independent parts */
          for (k = i + 1; k < j; k++)
            table[i][j] = max_score(table[i][j], table[i][k] + table[k+1][j]);
        }
    }
#pragma endscop
}
