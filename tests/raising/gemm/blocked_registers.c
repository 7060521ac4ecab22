/* C += A B, two by two elements of C in registers; the rest of rows and columns apart.
 * sizes: ni=7 nj=9 nk=5 */
#define N 16

void gemm(int ni, int nj, int nk, double C[N][N], double A[N][N], double B[N][N])
{
    int i, j, k;

    for (i = 0; i + 1 < ni; i += 2) {
        for (j = 0; j + 1 < nj; j += 2) {
            double c00 = 0, c01 = 0, c10 = 0, c11 = 0;
            for (k = 0; k < nk; k++) {
                c00 += A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=1 */
                c01 += A[i][k] * B[k][j + 1];
                c10 += A[i + 1][k] * B[k][j];
                c11 += A[i + 1][k] * B[k][j + 1];
            }
            C[i][j] += c00;
            C[i][j + 1] += c01;
            C[i + 1][j] += c10;
            C[i + 1][j + 1] += c11;
        }
        for (; j < nj; j++)
            for (k = 0; k < nk; k++) {
                C[i][j] += A[i][k] * B[k][j];
                C[i + 1][j] += A[i + 1][k] * B[k][j];
            }
    }
    for (; i < ni; i++)
        for (j = 0; j < nj; j++)
            for (k = 0; k < nk; k++)
                C[i][j] += A[i][k] * B[k][j];
}
