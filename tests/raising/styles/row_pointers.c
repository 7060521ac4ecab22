/* C += A B by pointers to rows.
 * sizes: n=7 */
void gemm(int n, double A[n][n], double B[n][n], double C[n][n])
{
    for (int i = 0; i < n; i++) {
        double *ci = C[i];
        for (int k = 0; k < n; k++) {
            const double *bk = B[k];
            double aik = A[i][k];
            for (int j = 0; j < n; j++)
                ci[j] += aik * bk[j]; /*= gemm A B -> C: ik,kj->ij alpha=1 beta=1 */
        }
    }
}
