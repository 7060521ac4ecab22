/* B = the solution X of A X = B, A lower triangular. */
#ifndef M
#define M 1000
#define N 1200
#endif

void trsm(int m, int n, double A[M][M], double B[M][N])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < i; k++)
                B[i][j] -= A[i][k] * B[k][j];
            B[i][j] /= A[i][i];
        }
}
