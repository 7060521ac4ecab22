/* s = A' r and q = A p.
 * sizes: m=6 n=8
 * defines: M=8 N=9 */
#ifndef M
#define M 1900
#define N 2100
#endif

void bicg(int m, int n, double A[N][M], double s[M], double q[N], double p[M], double r[N])
{
    for (int j = 0; j < m; j++)
        s[j] = 0;
    for (int i = 0; i < n; i++) {
        q[i] = 0.0;
        for (int j = 0; j < m; j++) {
            s[j] += r[i] * A[i][j]; /*= gemv A r -> s: ij,i->j alpha=1 beta=0 */
            q[i] += A[i][j] * p[j]; /*= gemv A p -> q: ij,j->i alpha=1 beta=0 */
        }
    }
}
