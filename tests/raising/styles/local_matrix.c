/* D = (A B) C by way of a matrix of the function's own, as large as it has to be.
 * sizes: n=5 m=6 p=7 */
void chain(int n, int m, int p, const double A[n][m], const double B[m][p], const double C[p][n], double D[n][n])
{
    double T[n][p];
    int i, j, k;

    for (i = 0; i < n; i++)
        for (j = 0; j < p; j++) {
            T[i][j] = 0;
            for (k = 0; k < m; k++)
                T[i][j] += A[i][k] * B[k][j]; /*= gemm A B -> T: ik,kj->ij alpha=1 beta=0 */
        }
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            D[i][j] = 0;
            for (k = 0; k < p; k++)
                D[i][j] += T[i][k] * C[k][j]; /*= gemm T C -> D: ik,kj->ij alpha=1 beta=0 */
        }
}
