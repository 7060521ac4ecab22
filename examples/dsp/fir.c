/*
 * FIR filter: y[i] = sum over k of h[k] * x[i + taps - 1 - k], 0 <= i < n.
 * x holds n + taps - 1 samples, the first taps - 1 being history.
 */
void fir(const float *restrict x, const float *restrict h,
         float *restrict y, int n, int taps)
{
    int i, k;

    for (i = 0; i < n; i++) {
        const float *px = x + i + taps - 1;   /* newest sample */
        const float *ph = h;
        register float acc = 0.0f;

        for (k = 0; k < taps; k++)
            acc += *ph++ * *px--;
        *y++ = acc;
    }
}
