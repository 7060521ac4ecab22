/* C = A B with places that are counted along.
 * sizes: n=7 */
void gemm(int n, const double *A, const double *B, double *C)
{
    int at_a, at_b, at_c = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++, at_c++) {
            at_a = i * n;
            at_b = j;
            C[at_c] = 0;
            for (int k = 0; k < n; k++, at_a++, at_b += n)
                C[at_c] += A[at_a] * B[at_b]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
        }
}
