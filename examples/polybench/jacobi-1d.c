/* jacobi-1d: 3-point averaging, ping-pong between A and B. */

#if defined(MINI_DATASET)
# define TSTEPS 20
# define N 30
#elif defined(SMALL_DATASET)
# define TSTEPS 40
# define N 120
#elif defined(MEDIUM_DATASET)
# define TSTEPS 100
# define N 400
#else /* LARGE_DATASET */
# define TSTEPS 500
# define N 2000
#endif

void kernel_jacobi_1d(int tsteps, int n,
                      double A[N],
                      double B[N])
{
  int t, i;

  for (t = 0; t < tsteps; t++)
    {
      for (i = 1; i < n - 1; i++)
        B[i] = 0.33333 * (A[i-1] + A[i] + A[i + 1]);
      for (i = 1; i < n - 1; i++)   /* and back */
        A[i] = 0.33333 * (B[i-1] + B[i] + B[i + 1]);
    }
}
