/* y = A * x; A is m x n, row by row, lda >= n floats apart. */
void matvec(const float *a, const float *x, float *y, int m, int n, int lda)
{
    int i, k;

    for (i = 0; i < m; i++) {
        register float acc = 0.0f;

        for (k = 0; k < n; k++)
            acc += a[i * lda + k] * x[k];
        y[i] = acc;
    }
}
