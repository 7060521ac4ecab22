/* Filters that adapt: the past first, rows, signs of errors kept apart, a step that is read. */

void past(int n, int taps, float mu, const float *restrict x, const float *restrict d, float *restrict w,
          float *restrict e)
{
    for (int i = 0; i < n; i++) {
        float y = 0.0f;
        for (int k = 0; k < taps; k++)
            y += w[k] * x[i + taps - 1 - k];
        e[i] = d[i] - y;
        for (int k = 0; k < taps; k++)
            w[k] += mu * 0.001f * e[i] * x[i + taps - 1 - k];
    }
}

void rows(int n, int m, double A[restrict n][m], const double b[restrict n], double w[restrict m],
          double err[restrict n])
{
    for (int i = 0; i < n; i++) {
        double s = 0.0;
        for (int k = 0; k < m; k++)
            s += A[i][k] * w[k];
        err[i] = s - b[i];
        for (int k = 0; k < m; k++)
            w[k] -= 0.0005 * err[i] * A[i][k];
    }
}

void steps(int n, int taps, const double *restrict mu, const double *restrict x, const double *restrict d,
           double *restrict w, double *restrict y)
{
    for (int i = 0; i < n; i++) {
        y[i] = 0.0;
        for (int k = 0; k < taps; k++)
            y[i] += w[k] * x[i + k];
        double f = 0.001 * mu[i] * (d[i] - y[i]);
        for (int k = 0; k < taps; k++)
            w[k] += f * x[i + k];
    }
}
