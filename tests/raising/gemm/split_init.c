/* C = A B, cleared by a nest of its own.
 * sizes: ni=6 nj=8 nk=7 */
#define N 16

void gemm(int ni, int nj, int nk, double C[N][N], double A[N][N], double B[N][N])
{
    int i, j, k;

    for (i = 0; i < ni; i++)
        for (j = 0; j < nj; j++)
            C[i][j] = 0.0;

    for (k = 0; k < nk; k++)
        for (i = 0; i < ni; i++)
            for (j = 0; j < nj; j++)
                C[i][j] += A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
}
