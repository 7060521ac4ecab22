/* C += A B, a column of C at a time.
 * sizes: m=6 n=8 k=7 */
void gemm(int m, int n, int k, double C[16][16], const double A[16][16], const double B[16][16])
{
    int row, col, inner;

    for (col = 0; col < n; ++col)
        for (row = 0; row < m; ++row)
            for (inner = 0; inner < k; ++inner)
                /*= gemm A B -> C: ik,kj->ij alpha=1 beta=1 */
                C[row][col] = C[row][col] + A[row][inner] * B[inner][col];
}
