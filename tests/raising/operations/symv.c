/* y += A x, A symmetric with its lower triangle stored.
 * sizes: n=8 */
void symv(int n, double A[16][16], const double *x, double *y)
{
    int i, j;

    for (i = 0; i < n; i++) {
        for (j = 0; j < i; j++) {
            y[i] += A[i][j] * x[j]; /*= symv A x -> y: ij,j->i alpha=1 beta=1 uplo=lower */
            y[j] += A[i][j] * x[i];
        }
        y[i] += A[i][i] * x[i];
    }
}
