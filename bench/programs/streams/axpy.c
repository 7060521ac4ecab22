/* y = a x + y. */
#ifndef N
#define N 8000000
#endif

void axpy(int n, double a, double x[N], double y[N])
{
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}
