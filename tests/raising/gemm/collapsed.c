/* C = A B, one loop over all elements of C: row and column by division and remainder.
 * sizes: m=6 n=8 k=7 */
void gemm(int m, int n, int k, const float *A, const float *B, float *C)
{
    for (int t = 0; t < m * n; t++) {
        int i = t / n;
        int j = t % n;
        float sum = 0.0f;
        for (int l = 0; l < k; l++)
            sum += A[i * k + l] * B[l * n + j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
        C[i * n + j] = sum;
    }
}
