/* y = A x, four products in one expression.
 * sizes: m=6 n=11 */
void gemv(int m, int n, const float *A, const float *x, float *y)
{
    for (int i = 0; i < m; i++) {
        float sum = 0;
        int j;
        for (j = 0; j <= n - 4; j += 4)
            sum += A[i * n + j] * x[j] + A[i * n + j + 1] * x[j + 1] /*= gemv A x -> y: ij,j->i alpha=1 beta=0 */
                   + A[i * n + j + 2] * x[j + 2] + A[i * n + j + 3] * x[j + 3];
        for (; j < n; j++)
            sum += A[i * n + j] * x[j];
        y[i] = sum;
    }
}
