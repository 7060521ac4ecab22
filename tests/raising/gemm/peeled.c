/* C = A B for matrices that are not empty: the first product sets, the others add.
 * sizes: ni=6 nj=8 nk=7 */
#define N 16

void gemm(int ni, int nj, int nk, float C[N][N], float A[N][N], float B[N][N])
{
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++) {
            C[i][j] = A[i][0] * B[0][j];
            for (int k = 1; k < nk; k++)
                C[i][j] += A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
        }
}
