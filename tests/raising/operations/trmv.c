/* y = L x, L lower triangular.
 * sizes: n=8 */
void trmv(int n, double L[16][16], const double *x, double *y)
{
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (int j = 0; j <= i; j++)
            y[i] += L[i][j] * x[j]; /*= trmv L x -> y: ij,j->i uplo=lower trans=N diag=nonunit */
    }
}
