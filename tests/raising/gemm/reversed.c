/* C += A B, all loops counting down.
 * sizes: ni=6 nj=8 nk=7 */
#define N 16

void gemm(int ni, int nj, int nk, float C[N][N], float A[N][N], float B[N][N])
{
    int i, j, k;

    for (i = ni - 1; i >= 0; i--)
        for (k = nk; k-- > 0;)
            for (j = nj - 1; j >= 0; --j)
                C[i][j] += A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=1 */
}
