/* A += a x y'.
 * sizes: m=6 n=8 lda=10 */
void ger(int m, int n, double a, const double *x, const double *y, double *A, int lda)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            A[i * lda + j] += a * x[i] * y[j]; /*= ger x y -> A: i,j->ij alpha=a beta=1 */
}
