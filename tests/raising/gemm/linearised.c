/* C = A B, matrices as rows of elements behind a plain pointer.
 * sizes: M=6 N=8 K=7 */
#include <stddef.h>

void gemm(size_t M, size_t N, size_t K, const double *A, const double *B, double *C)
{
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < N; j++) {
            C[i * N + j] = 0.0;
            for (size_t k = 0; k < K; k++)
                C[i * N + j] += A[i * K + k] * B[k * N + j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
        }
    }
}
