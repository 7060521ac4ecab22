/*
 * 2-D 8x8 DCT of consecutive blocks: out = C * in * C^T.
 * in, out: 64 * nblocks values, each block row by row
 * c: the 8x8 coefficient table, c[8*u + k] the k-th sample of basis u
 */
void dct8x8(const float *in, float *out, const float *c, int nblocks)
{
    float tmp[64];
    int b, i, u, k;

    for (b = 0; b < nblocks; b++) {
        /* rows: tmp = in * C^T */
        for (i = 0; i < 8; i++)
            for (u = 0; u < 8; u++) {
                float acc = 0.0f;

                for (k = 0; k < 8; k++)
                    acc += in[8 * i + k] * c[8 * u + k];
                tmp[8 * i + u] = acc;
            }

        /* columns: out = C * tmp */
        for (u = 0; u < 8; u++)
            for (i = 0; i < 8; i++) {
                float acc = 0.0f;

                for (k = 0; k < 8; k++)
                    acc += c[8 * u + k] * tmp[8 * k + i];
                out[8 * u + i] = acc;
            }

        in += 64;
        out += 64;
    }
}
