/* Sums along the rows of a matrix: two of them with a distance between rows, by groups, of rows from the last one on. */

void both(int m, int n, int lda, double alpha, const double *restrict A, const double *restrict B,
          const double *restrict x, double *restrict y)
{
    for (int i = 0; i < m; i++) {
        double s = 0.0, t = y[i];
        for (int j = 0; j < n; j++) {
            s += A[i * lda + j] * x[j];
            t -= 0.5 * B[i * lda + j] * x[j];
        }
        y[i] = alpha * s + t;
    }
}

void groups(int g, int m, int n, float A[restrict g][m][n], float x[restrict g][n], float y[restrict g][m])
{
    for (int b = 0; b < g; b++)
        for (int i = 0; i < m; i++)
            for (int k = 0; k < n; k++)
                y[b][i] += A[b][i][k] * x[b][k];
}

float upwards(int m, int n, float A[restrict m][n], const float w[restrict n], float bias, float out[restrict m])
{
    float most = 0.0f;
    for (int i = m - 1; i >= 0; i--) {
        float sum = bias;
        for (int k = 0; k < n; k++)
            sum += w[k] * A[i][k];
        out[i] = sum > 0.0f ? sum : 0.0f;
    }
    for (int i = 0; i < m; i++)
        most = out[i] > most ? out[i] : most;
    return most;
}
