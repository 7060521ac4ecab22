/* C = A B, extents that are parameters.
 * sizes: m=6 n=8 k=7 */
void gemm(int m, int n, int k, double A[m][k], double B[k][n], double C[m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            C[i][j] = 0;
            for (int l = 0; l < k; l++)
                C[i][j] += A[i][l] * B[l][j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
        }
}
