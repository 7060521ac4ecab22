/* C += ALPHA A' B', both by columns.
 * sizes: M=6 N=8 K=7 lda=9 ldb=10 ldc=11 */
void gemm_tt(int M, int N, int K, float ALPHA, float *A, int lda, float *B, int ldb, float *C, int ldc)
{
    int i, j, k;

    for (i = 0; i < M; ++i) {
        for (j = 0; j < N; ++j) {
            register float sum = 0;
            for (k = 0; k < K; ++k) {
                sum += ALPHA * A[i + k * lda] * B[k + j * ldb]; /*= gemm A B -> C: ki,jk->ij alpha=ALPHA beta=1 */
            }
            C[i * ldc + j] += sum;
        }
    }
}
