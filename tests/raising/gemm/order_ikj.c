/* C = A B, rows of B added up, after C was cleared.
 * sizes: ni=6 nj=8 nk=7 */
#define NI 20
#define NJ 24
#define NK 22

void gemm(int ni, int nj, int nk, float C[NI][NJ], float A[NI][NK], float B[NK][NJ])
{
    int i, j, k;

    for (i = 0; i < ni; i++) {
        for (j = 0; j < nj; j++)
            C[i][j] = 0.0f;
        for (k = 0; k < nk; k++)
            for (j = 0; j < nj; j++)
                C[i][j] += A[i][k] * B[k][j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
    }
}
