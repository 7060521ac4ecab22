/* C = beta C + alpha A B, each element scaled right before it is added to; the product's factors in another order.
 * sizes: ni=6 nj=8 nk=7 */
#define N 16

void gemm(int ni, int nj, int nk, double alpha, double beta, double C[N][N], double A[N][N], double B[N][N])
{
    int i, j, k;

    for (i = 0; i < ni; i++)
        for (j = 0; j < nj; j++) {
            C[i][j] *= beta;
            for (k = 0; k < nk; ++k)
                C[i][j] += B[k][j] * (alpha * A[i][k]); /*= gemm A B -> C: ik,kj->ij alpha=alpha beta=beta */
        }
}
