/* C = A B, a row added up in an array of the function's own and then copied out.
 * sizes: ni=6 nj=8 nk=7 */
#define N 16

void gemm(int ni, int nj, int nk, double C[N][N], double A[N][N], double B[N][N])
{
    double row[N];
    int i, j, k;

    for (i = 0; i < ni; i++) {
        for (j = 0; j < nj; j++)
            row[j] = 0.0;
        for (k = 0; k < nk; k++)
            for (j = 0; j < nj; j++)
                row[j] += A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
        for (j = 0; j < nj; j++)
            C[i][j] = row[j];
    }
}
