/* C -= A B as a sum of outer products: the update of a blocked factorisation.
 * sizes: ni=6 nj=8 nk=7 */
#define N 16

void gemm(int ni, int nj, int nk, double C[N][N], double A[N][N], double B[N][N])
{
    for (int k = 0; k < nk; k++)
        for (int i = 0; i < ni; i++)
            for (int j = 0; j < nj; j++)
                C[i][j] -= A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=-1 beta=1 */
}
