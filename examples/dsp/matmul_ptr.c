/*
 * C += A * B by pointer walks; A is m x k, B k x n, C m x n, row by row
 * with leading dimensions lda >= k, ldb >= n, ldc >= n.
 */
void matmul_ptr(const float *a, const float *b, float *c,
                int m, int n, int k, int lda, int ldb, int ldc)
{
    int i, j, l;

    for (i = 0; i < m; i++) {
        float *pc = c + i * ldc;

        for (j = 0; j < n; j++) {
            const float *pa = a + i * lda;  /* along a row of A */
            const float *pb = b + j;        /* down a column of B */

            for (l = k; l > 0; l--) {
                *pc += *pa++ * *pb;
                pb += ldb;
            }
            pc++;
        }
    }
}
