/* C += A' B', by subscripts into rows of elements.
 * sizes: n=6 m=8 d=7 */
void gemm(int n, int m, int d, const double *A, const double *B, double *C)
{
    int i, j, k;

    for (i = 0; i < n; ++i)
        for (j = 0; j < m; ++j)
            for (k = 0; k < d; ++k)
                C[i * m + j] += A[k * n + i] * B[j * d + k]; /*= gemm A B -> C: ki,jk->ij alpha=1 beta=1 */
}
