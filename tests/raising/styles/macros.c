/* C = A B with macros for subscripts.
 * sizes: n=6 m=8 p=7 */
#define AT(M, i, j, ld) ((M)[(i) * (ld) + (j)])

void gemm(int n, int m, int p, const double *A, const double *B, double *C)
{
    int i, j, k;

    for (j = 0; j < m; j++)
        for (i = 0; i < n; i++) {
            double sum = 0;
            for (k = 0; k < p; k++)
                sum += AT(A, i, k, p) * AT(B, k, j, m); /*= gemm A B -> C: ik,kj->ij alpha=1 beta=0 */
            AT(C, i, j, m) = sum;
        }
}
