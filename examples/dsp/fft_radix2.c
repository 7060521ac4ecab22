/*
 * In-place radix-2 FFT (decimation in time) of n complex samples.
 * x: n interleaved re/im pairs, n a power of 2
 * w: n/2 interleaved twiddles, cos(2*pi*k/n) and -sin(2*pi*k/n)
 */
void fft_radix2(float *x, const float *w, int n)
{
    int i, j, k, len;

    /* bit reversal */
    for (i = 0, j = 0; i < n - 1; i++) {
        if (i < j) {
            float tr = x[2 * i];
            float ti = x[2 * i + 1];

            x[2 * i] = x[2 * j];
            x[2 * i + 1] = x[2 * j + 1];
            x[2 * j] = tr;
            x[2 * j + 1] = ti;
        }
        /* add one to j, counting from the top bit down */
        for (k = n >> 1; k <= j; k >>= 1)
            j -= k;
        j += k;
    }

    /* log2(n) stages of butterflies */
    for (len = 2; len <= n; len <<= 1) {
        int half = len >> 1;
        int step = n / len;     /* twiddle stride */

        for (i = 0; i < n; i += len) {
            float *a = x + 2 * i;
            float *b = a + 2 * half;
            const float *pw = w;

            for (k = 0; k < half; k++) {
                float br = b[0] * pw[0] - b[1] * pw[1];
                float bi = b[0] * pw[1] + b[1] * pw[0];

                b[0] = a[0] - br;
                b[1] = a[1] - bi;
                a[0] += br;
                a[1] += bi;
                a += 2;
                b += 2;
                pw += 2 * step;
            }
        }
    }
}
