/* D = alpha A B C + beta D, by way of tmp.
 * sizes: ni=6 nj=8 nk=7 nl=9
 * defines: NI=8 NJ=9 NK=10 NL=11 */
#ifndef NI
#define NI 800
#define NJ 900
#define NK 1100
#define NL 1200
#endif

void mm2(int ni, int nj, int nk, int nl, double alpha, double beta, double tmp[NI][NJ], double A[NI][NK],
         double B[NK][NJ], double C[NJ][NL], double D[NI][NL])
{
    int i, j, k;

    for (i = 0; i < ni; i++)
        for (j = 0; j < nj; j++) {
            tmp[i][j] = 0.0;
            for (k = 0; k < nk; k++)
                tmp[i][j] += alpha * A[i][k] * B[k][j]; /*= gemm A B -> tmp: ik,kj->ij alpha=alpha beta=0 */
        }
    for (i = 0; i < ni; i++)
        for (j = 0; j < nl; j++) {
            D[i][j] *= beta;
            for (k = 0; k < nj; k++)
                D[i][j] += tmp[i][k] * C[k][j]; /*= gemm tmp C -> D: ik,kj->ij alpha=1 beta=beta */
        }
}
