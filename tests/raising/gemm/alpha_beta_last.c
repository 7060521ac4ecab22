/* C = alpha A B + beta C, both factors at the end.
 * sizes: m=6 n=8 k=7 lda=9 ldb=11 ldc=10 */
void gemm(int m, int n, int k, double alpha, const double *A, int lda, const double *B, int ldb, double beta,
          double *C, int ldc)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double ab = 0.0;
            for (int l = 0; l < k; l++)
                ab += A[i * lda + l] * B[l * ldb + j]; /*= gemm A B -> C: ik,kj->ij alpha=alpha beta=beta */
            C[i * ldc + j] = alpha * ab + beta * C[i * ldc + j];
        }
}
