/* y = A x. */
#ifndef M
#define M 3000
#define N 3000
#endif

void gemv(int m, int n, double A[M][N], double x[N], double y[M])
{
    for (int i = 0; i < m; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++)
            y[i] += A[i][j] * x[j];
    }
}
