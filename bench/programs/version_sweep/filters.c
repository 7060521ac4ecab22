/* Filters and correlations: each order of loops, taps turned round, sums kept, lags, steps, whole numbers. */

void causal(int n, int taps, const double *restrict x, const double *restrict h, double *restrict y)
{
    for (int i = 0; i < n; i++) {
        y[i] = 0.0;
        for (int k = 0; k < taps; k++)
            y[i] += h[k] * x[i + taps - 1 - k];
    }
}

void spread(int n, int taps, const float *restrict x, const float *restrict h, float *restrict y)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < taps; k++)
            y[i + k] += x[i] * h[k];
}

void lags(int n, int m, float scale, const float *restrict x, float *restrict r)
{
    for (int l = 0; l < m; l++) {
        float sum = 0.0f;
        for (int i = l; i < n; i++)
            sum += x[i] * x[i - l];
        r[l] = sum * scale;
    }
}

void decimated(int n, int taps, const float *restrict x, const float *restrict h, float *restrict y)
{
    for (int i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int k = 0; k < taps; k++)
            sum += h[k] * x[2 * i + k];
        y[i] = sum;
    }
}

void whole(int n, int taps, const short *restrict x, const short *restrict h, int *restrict y)
{
    for (int i = 0; i < n; i++) {
        int sum = 0;
        for (int k = 0; k < taps; k++)
            sum += x[i + k] * h[k];
        y[i] = sum >> 4;
    }
}

void channels(int c, int n, int taps, float x[restrict c][n + taps], float h[restrict c][taps], float y[restrict c][n])
{
    for (int p = 0; p < c; p++)
        for (int k = 0; k < taps; k++)
            for (int i = 0; i < n; i++)
                y[p][i] += h[p][k] * x[p][i + k];
}

void across(int h, int w, int taps, float x[restrict h + taps][w], const float *restrict g, float y[restrict h][w])
{
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++) {
            float sum = 0.0f;
            for (int k = 0; k < taps; k++)
                sum += g[k] * x[i + k][j];
            y[i][j] = sum;
        }
}
