/* C = alpha A A' + beta C, the lower triangle of C. */
#ifndef N
#define N 1200
#define K 1000
#endif

void syrk(int n, int k, double alpha, double beta, double C[N][N], double A[N][K])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int p = 0; p < k; p++)
            for (int j = 0; j <= i; j++)
                C[i][j] += alpha * A[i][p] * A[j][p];
    }
}
