/* C = alpha A B + beta C, alpha multiplied into an element of A, beta where each row begins.
 * sizes: ni=6 nj=8 nk=7 */
#define N 16

void gemm(int ni, int nj, int nk, float alpha, float beta, float C[N][N], float A[N][N], float B[N][N])
{
    for (int i = 0; i < ni; i++) {
        for (int j = 0; j < nj; j++)
            C[i][j] = C[i][j] * beta;
        for (int k = 0; k < nk; k++) {
            register float a = alpha * A[i][k];
            for (int j = 0; j < nj; j++)
                C[i][j] += a * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=alpha beta=beta */
        }
    }
}
