/* y = alpha A x + beta B x.
 * sizes: n=7
 * defines: N=9 */
#ifndef N
#define N 1300
#endif

void gesummv(int n, double alpha, double beta, double A[N][N], double B[N][N], double tmp[N], double x[N], double y[N])
{
    int i, j;

    for (i = 0; i < n; i++) {
        tmp[i] = 0.0;
        y[i] = 0.0;
        for (j = 0; j < n; j++) {
            tmp[i] += A[i][j] * x[j]; /*= gemv A x -> tmp: ij,j->i alpha=1 beta=0 */
            y[i] += B[i][j] * x[j];   /*= gemv B x -> y: ij,j->i alpha=1 beta=0 */
        }
        y[i] = alpha * tmp[i] + beta * y[i];
    }
}
