/* C = alpha A B + beta C, A symmetric, its lower triangle stored. */
#ifndef M
#define M 1000
#define N 1200
#endif

void symm(int m, int n, double alpha, double beta, double C[M][N], double A[M][M], double B[M][N])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                sum += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * sum;
        }
}
