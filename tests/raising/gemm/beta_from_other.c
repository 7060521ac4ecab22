/* C = alpha A B + beta C begun in a variable: the sum starts from the scaled element.
 * sizes: ni=6 nj=8 nk=7 */
#define N 16

void gemm(int ni, int nj, int nk, double alpha, double beta, double C[N][N], double A[N][N], double B[N][N])
{
    int i, j, k;

    for (i = 0; i < ni; i++)
        for (j = 0; j < nj; j++) {
            double c = beta * C[i][j];
            for (k = 0; k < nk; ++k)
                c = c + alpha * (A[i][k] * B[k][j]); /*= gemm A B -> C: ik,kj->ij alpha=alpha beta=beta */
            C[i][j] = c;
        }
}
