/*
 * LMS adaptive filter.
 * x: n + taps - 1 samples, d: n wanted samples, w: taps weights (updated),
 * y: n outputs, e: n errors, mu: step size.
 */
void lms(const float *x, const float *d, float *w, float *y, float *e,
         int n, int taps, float mu)
{
    int i, k;

    for (i = 0; i < n; i++) {
        const float *px = &x[i];
        float acc = 0.0f;
        float step;

        for (k = 0; k < taps; k++)
            acc += w[k] * px[k];
        y[i] = acc;
        e[i] = d[i] - acc;

        /* move the weights along the gradient */
        step = mu * e[i];
        for (k = 0; k < taps; k++)
            w[k] += step * px[k];
    }
}
