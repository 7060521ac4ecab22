/*
 * In-place radix-4 FFT (decimation in frequency) of n complex samples,
 * n a power of 4; real and imaginary parts in separate arrays.
 * wr, wi: 3n/4 twiddles, cos(2*pi*k/n) and -sin(2*pi*k/n).
 */
void fft_radix4(float *re, float *im, const float *wr, const float *wi, int n)
{
    int i, j, k, span, step;

    for (span = n >> 2, step = 1; span > 0; span >>= 2, step <<= 2) {
        for (j = 0; j < span; j++) {
            /* three twiddles shared by all groups */
            float c1 = wr[j * step], s1 = wi[j * step];
            float c2 = wr[2 * j * step], s2 = wi[2 * j * step];
            float c3 = wr[3 * j * step], s3 = wi[3 * j * step];

            for (i = j; i < n; i += 4 * span) {
                int i1 = i + span;
                int i2 = i1 + span;
                int i3 = i2 + span;
                float ar = re[i] + re[i2], ai = im[i] + im[i2];
                float br = re[i] - re[i2], bi = im[i] - im[i2];
                float cr = re[i1] + re[i3], ci = im[i1] + im[i3];
                float dr = re[i1] - re[i3], di = im[i1] - im[i3];
                float tr, ti;

                re[i] = ar + cr;
                im[i] = ai + ci;

                tr = br + di;   /* b - j*d */
                ti = bi - dr;
                re[i1] = tr * c1 - ti * s1;
                im[i1] = tr * s1 + ti * c1;

                tr = ar - cr;
                ti = ai - ci;
                re[i2] = tr * c2 - ti * s2;
                im[i2] = tr * s2 + ti * c2;

                tr = br - di;   /* b + j*d */
                ti = bi + dr;
                re[i3] = tr * c3 - ti * s3;
                im[i3] = tr * s3 + ti * c3;
            }
        }
    }

    /* base-4 digit reversal */
    for (i = 0, j = 0; i < n - 1; i++) {
        if (i < j) {
            float t = re[i];

            re[i] = re[j];
            re[j] = t;
            t = im[i];
            im[i] = im[j];
            im[j] = t;
        }
        for (k = n >> 2; 3 * k <= j; k >>= 2)
            j -= 3 * k;
        j += k;
    }
}
