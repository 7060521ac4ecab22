/* C = min(C, A + B): the product of paths.
 * sizes: n=7 */
void minplus(int n, double C[16][16], double A[16][16], double B[16][16])
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                C[i][j] = A[i][k] + B[k][j] < C[i][j] ? A[i][k] + B[k][j] : C[i][j]; /*= minplus A B -> C: ik,kj->ij beta=1 */
}
