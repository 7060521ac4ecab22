/* dst = src^T; src is rows x cols with leading dimension lds >= cols, dst
   cols x rows with leading dimension ldd >= rows. */
void transpose(const float *restrict src, float *restrict dst,
               int rows, int cols, int lds, int ldd)
{
    int i, j;

    for (i = 0; i < rows; i++)
        for (j = 0; j < cols; j++)
            dst[j * ldd + i] = src[i * lds + j];
}

/* In-place transpose of an n x n matrix with leading dimension lda >= n. */
void transpose_inplace(float *a, int n, int lda)
{
    int i, j;

    for (i = 0; i < n; i++)
        for (j = i + 1; j < n; j++) {
            /* swap across the diagonal */
            float t = a[i * lda + j];

            a[i * lda + j] = a[j * lda + i];
            a[j * lda + i] = t;
        }
}
