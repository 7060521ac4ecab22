/* C = A B', the rows of both multiplied with each other.
 * sizes: n=6 m=8 d=7 */
void gemm(int n, int m, int d, const float A[n][d], const float B[m][d], float C[n][m])
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j) {
            float dot = 0.f;
            for (int k = 0; k < d; ++k)
                dot += A[i][k] * B[j][k]; /*= gemm A B -> C: ik,jk->ij alpha=1 beta=0 */
            C[i][j] = dot;
        }
}
