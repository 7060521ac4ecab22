/* B = alpha A' B, A lower triangular with ones on its diagonal. */
#ifndef M
#define M 1000
#define N 1200
#endif

void trmm(int m, int n, double alpha, double A[M][M], double B[M][N])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            for (int k = i + 1; k < m; k++)
                B[i][j] += A[k][i] * B[k][j];
            B[i][j] = alpha * B[i][j];
        }
}
