/* C += A B in tiles of 4 by 4 by 4; the last ones are cut.
 * sizes: ni=10 nj=9 nk=7 */
#define N 24
#define TILE 4
#define min(a, b) ((a) < (b) ? (a) : (b))

void gemm(int ni, int nj, int nk, double C[N][N], double A[N][N], double B[N][N])
{
    int ii, jj, kk, i, j, k;

    for (ii = 0; ii < ni; ii += TILE)
        for (jj = 0; jj < nj; jj += TILE)
            for (kk = 0; kk < nk; kk += TILE)
                for (i = ii; i < min(ii + TILE, ni); i++)
                    for (k = kk; k < min(kk + TILE, nk); k++)
                        for (j = jj; j < min(jj + TILE, nj); j++)
                            C[i][j] += A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=1 */
}
