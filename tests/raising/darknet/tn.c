/* C += ALPHA A' B, A by columns.
 * sizes: M=6 N=8 K=7 lda=9 ldb=10 ldc=11 */
void gemm_tn(int M, int N, int K, float ALPHA, float *A, int lda, float *B, int ldb, float *C, int ldc)
{
    int i, j, k;

    for (i = 0; i < M; ++i) {
        for (k = 0; k < K; ++k) {
            register float A_PART = ALPHA * A[k * lda + i];
            for (j = 0; j < N; ++j) {
                C[i * ldc + j] += A_PART * B[k * ldb + j]; /*= gemm A B -> C: ki,kj->ij alpha=ALPHA beta=1 */
            }
        }
    }
}
