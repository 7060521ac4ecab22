/* x1 += A y1 and x2 += A' y2.
 * sizes: n=7
 * defines: N=9 */
#ifndef N
#define N 2000
#endif

void mvt(int n, double x1[N], double x2[N], double y1[N], double y2[N], double A[N][N])
{
    int i, j;

    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            x1[i] += A[i][j] * y1[j]; /*= gemv A y1 -> x1: ij,j->i alpha=1 beta=1 */
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            x2[i] += A[j][i] * y2[j]; /*= gemv A y2 -> x2: ji,j->i alpha=1 beta=1 */
}
