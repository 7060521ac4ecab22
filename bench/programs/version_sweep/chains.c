/* Triangles filled from themselves, each value in a variable of its own: products of matrices, cuts, trees. */

void products(int n, const long p[restrict n + 1], long m[restrict n][n])
{
    for (int l = 1; l < n; l++)
        for (int i = 0; i < n - l; i++) {
            int j = i + l;
            long best = 1000000000000000L;
            for (int k = i; k < j; k++) {
                long cost = m[i][k] + m[k + 1][j] + p[i] * p[k + 1] * p[j + 1];
                if (cost < best)
                    best = cost;
            }
            m[i][j] = best;
        }
}

void cuts(int n, int lda, float *restrict m)
{
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            float best = 1e30f;
            for (int k = i; k < j; k++)
                best = m[i * lda + k] + m[(k + 1) * lda + j] < best ? m[i * lda + k] + m[(k + 1) * lda + j] : best;
            m[i * lda + j] = best + 0.5f;
        }
}

void largest(int n, double m[restrict n][n])
{
    for (int j = 0; j < n; j++)
        for (int i = j - 1; i >= 0; i--) {
            double most = m[i][j];
            for (int k = i + 1; k < j; k++)
                most = m[i][k] + m[k][j] > most ? m[i][k] + m[k][j] : most;
            m[i][j] = most;
        }
}

void sums(int n, int m[restrict n][n])
{
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            unsigned s = 1;
            for (int k = i; k < j; k++)
                s += (unsigned)m[i][k] * 3u + (unsigned)m[k + 1][j];
            m[i][j] = (int)(s & 0xffff);
        }
}
