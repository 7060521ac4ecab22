/* C = alpha A B + beta C.
 * sizes: ni=6 nj=8 nk=7
 * defines: NI=8 NJ=9 NK=10 */
#ifndef NI
#define NI 1000
#define NJ 1100
#define NK 1200
#endif

void gemm(int ni, int nj, int nk, double alpha, double beta, double C[NI][NJ], double A[NI][NK], double B[NK][NJ])
{
    int i, j, k;

    for (i = 0; i < ni; i++) {
        for (j = 0; j < nj; j++)
            C[i][j] *= beta;
        for (k = 0; k < nk; k++)
            for (j = 0; j < nj; j++)
                C[i][j] += alpha * A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=alpha beta=beta */
    }
}
