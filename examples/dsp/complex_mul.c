/* c[i] = a[i] * b[i] for n complex numbers, stored as re, im, re, im, ... */
void complex_mul(const float *restrict a, const float *restrict b,
                 float *restrict c, int n)
{
    int i;

    for (i = 0; i < 2 * n; i += 2) {
        float ar = a[i], ai = a[i + 1];
        float br = b[i], bi = b[i + 1];

        c[i] = ar * br - ai * bi;
        c[i + 1] = ar * bi + ai * br;
    }
}
