/* C = alpha A B' + alpha B A' + beta C, the lower triangle of C. */
#ifndef N
#define N 1200
#define K 1000
#endif

void syr2k(int n, int k, double alpha, double beta, double C[N][N], double A[N][K], double B[N][K])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int p = 0; p < k; p++)
            for (int j = 0; j <= i; j++)
                C[i][j] += A[j][p] * alpha * B[i][p] + B[j][p] * alpha * A[i][p];
    }
}
