/* Autocorrelation of n samples: r[0 .. lags-1], lags <= n, not normalised. */
void autocorrelation(const float *restrict x, float *restrict r,
                     int n, int lags)
{
    int lag, i;

    for (lag = 0; lag < lags; lag++) {
        const float *p = x;
        const float *q = x + lag;
        float acc = 0.0f;

        for (i = n - lag; i > 0; i--)
            acc += *p++ * *q++;
        r[lag] = acc;
    }
}
