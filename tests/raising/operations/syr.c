/* The lower triangle of A += a x x'.
 * sizes: n=8 */
void syr(int n, double a, const double *x, double A[16][16])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            A[i][j] += a * x[i] * x[j]; /*= syr x -> A: i,j->ij alpha=a uplo=lower */
}
