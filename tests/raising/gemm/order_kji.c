/* C = beta C + alpha A B; the scaling first, then outer products by columns.
 * sizes: ni=6 nj=8 nk=7 */
#define N 16

void gemm(unsigned ni, unsigned nj, unsigned nk, float alpha, float beta, float C[N][N], float A[N][N], float B[N][N])
{
    unsigned i, j, k;

    for (j = 0; j < nj; j++)
        for (i = 0; i < ni; i++)
            C[i][j] *= beta;
    for (k = 0; k < nk; k++)
        for (j = 0; j < nj; j++)
            for (i = 0; i < ni; i++)
                C[i][j] += A[i][k] * alpha * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=alpha beta=beta */
}
