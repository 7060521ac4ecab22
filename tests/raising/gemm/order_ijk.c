/* C += alpha A B, the textbook's order.
 * sizes: ni=6 nj=8 nk=7 */
#define NI 20
#define NJ 24
#define NK 22

void gemm(int ni, int nj, int nk, double alpha, double C[NI][NJ], double A[NI][NK], double B[NK][NJ])
{
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++)
            for (int k = 0; k < nk; k++)
                C[i][j] += alpha * A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=alpha beta=1 */
}
