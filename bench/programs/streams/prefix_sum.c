/* Each sum of all values up to one. */
#ifndef N
#define N 16000000
#endif

void prefix_sum(int n, float x[N], float y[N])
{
    y[0] = x[0];
    for (int i = 1; i < n; i++)
        y[i] = y[i - 1] + x[i];
}
