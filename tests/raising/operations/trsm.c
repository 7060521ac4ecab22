/* X solves L X = B, in place of B.
 * sizes: n=8 m=6 */
void trsm(int n, int m, double L[16][16], double B[16][16])
{
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < i; k++)
                B[i][j] -= L[i][k] * B[k][j]; /*= trsm L B -> B: ik,kj->ij side=left uplo=lower trans=N diag=nonunit */
            B[i][j] /= L[i][i];
        }
}
