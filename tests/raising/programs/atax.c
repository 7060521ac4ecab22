/* y = A' (A x).
 * sizes: m=6 n=8
 * defines: M=8 N=9 */
#ifndef M
#define M 1900
#define N 2100
#endif

void atax(int m, int n, double A[M][N], double x[N], double y[N], double tmp[M])
{
    int i, j;

    for (j = 0; j < n; j++)
        y[j] = 0.0;
    for (i = 0; i < m; i++) {
        tmp[i] = 0.0;
        for (j = 0; j < n; j++)
            tmp[i] += A[i][j] * x[j]; /*= gemv A x -> tmp: ij,j->i alpha=1 beta=0 */
        for (j = 0; j < n; j++)
            y[j] += A[i][j] * tmp[i]; /*= gemv A tmp -> y: ij,i->j alpha=1 beta=0 */
    }
}
