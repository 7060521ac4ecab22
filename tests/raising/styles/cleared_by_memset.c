/* C = A B, cleared by the library.
 * sizes: n=6 m=8 p=7 */
#include <string.h>

void gemm(int n, int m, int p, const double *A, const double *B, double *C)
{
    memset(C, 0, sizeof(double) * n * m);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < p; k++)
            for (int j = 0; j < m; j++)
                C[i * m + j] += A[i * p + k] * B[k * m + j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
}
