/* C = A B, cleared by one loop over all of it.
 * sizes: n=6 m=8 p=7 */
void gemm(int n, int m, int p, const float *A, const float *B, float *C)
{
    for (int t = 0; t < n * m; t++)
        C[t] = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < p; k++)
            for (int j = 0; j < m; j++)
                C[i * m + j] += A[i * p + k] * B[k * m + j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
}
