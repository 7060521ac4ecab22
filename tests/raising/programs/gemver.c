/* A += u1 v1' + u2 v2'; x = x + beta A' y + z; w = w + alpha A x.
 * sizes: n=7
 * defines: N=9 */
#ifndef N
#define N 2000
#endif

void gemver(int n, double alpha, double beta, double A[N][N], double u1[N], double v1[N], double u2[N], double v2[N],
            double w[N], double x[N], double y[N], double z[N])
{
    int i, j;

    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            A[i][j] += u1[i] * v1[j]; /*= ger u1 v1 -> A: i,j->ij alpha=1 beta=1 */
            A[i][j] += u2[i] * v2[j]; /*= ger u2 v2 -> A: i,j->ij alpha=1 beta=1 */
        }
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            x[i] += beta * A[j][i] * y[j]; /*= gemv A y -> x: ji,j->i alpha=beta beta=1 */
    for (i = 0; i < n; i++)
        x[i] += z[i]; /*= axpy z -> x: i->i alpha=1 beta=1 */
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            w[i] += alpha * A[i][j] * x[j]; /*= gemv A x -> w: ij,j->i alpha=alpha beta=1 */
}
