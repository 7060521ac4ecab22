/*
 * Cascade of biquad sections, transposed direct form II.
 * coef:  5 per stage, b0 b1 b2 a1 a2 (a0 = 1)
 * state: 2 per stage, kept from call to call
 * x and y hold n samples and may be the same array.
 */
void iir_biquad_cascade(const float *x, float *y, const float *coef,
                        float *state, int n, int stages)
{
    while (n-- > 0) {
        const float *c = coef;
        float *z = state;
        float s = *x++;
        int k;

        for (k = stages; k > 0; k--) {
            float out = c[0] * s + z[0];

            z[0] = c[1] * s - c[3] * out + z[1];
            z[1] = c[2] * s - c[4] * out;
            s = out;            /* feeds the next stage */
            c += 5;
            z += 2;
        }
        *y++ = s;
    }
}
