/* C = A B, four products at a time, then the rest one by one.
 * sizes: ni=6 nj=8 nk=11 */
#define N 24

void gemm(int ni, int nj, int nk, double C[N][N], double A[N][N], double B[N][N])
{
    int i, j, k;

    for (i = 0; i < ni; i++)
        for (j = 0; j < nj; j++) {
            double s = 0.0;
            for (k = 0; k + 3 < nk; k += 4) {
                s += A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
                s += A[i][k + 1] * B[k + 1][j];
                s += A[i][k + 2] * B[k + 2][j];
                s += A[i][k + 3] * B[k + 3][j];
            }
            for (; k < nk; k++)
                s += A[i][k] * B[k][j];
            C[i][j] = s;
        }
}
