/* C += A B in rows of a constant length behind plain pointers.
 * sizes: n=7 */
#define LENGTH 64

void gemm(int n, const double *A, const double *B, double *C)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i * LENGTH + j] += A[i * LENGTH + k] * B[k * LENGTH + j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=1 */
}
