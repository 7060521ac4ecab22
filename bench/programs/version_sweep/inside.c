/* Small transforms of blocks, of pixels and of vectors: tables turned, rows of an image, colours, turns in space. */

void blocks(int n, const double in[restrict n][6][6], double out[restrict n][6][6], const double c[restrict 6][6])
{
    for (int b = 0; b < n; b++) {
        double t[6][6];
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                t[i][j] = 0.0;
                for (int k = 0; k < 6; k++)
                    t[i][j] += c[i][k] * in[b][k][j];
            }
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                double s = 0.0;
                for (int k = 0; k < 6; k++)
                    s += t[i][k] * c[j][k];
                out[b][i][j] = s;
            }
    }
}

void whole(int n, const short *restrict in, short *restrict out, const short *restrict c)
{
    for (int b = 0; b < n; b++, in += 64, out += 64) {
        int t[64];
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++) {
                int s = 0;
                for (int k = 0; k < 8; k++)
                    s += in[8 * i + k] * c[8 * j + k];
                t[8 * i + j] = s >> 6;
            }
        for (int j = 0; j < 8; j++)
            for (int i = 0; i < 8; i++) {
                int s = 0;
                for (int k = 0; k < 8; k++)
                    s += t[8 * k + i] * c[8 * j + k];
                out[8 * j + i] = (short)(s >> 10);
            }
    }
}

void colours(int n, const float *restrict in, float *restrict out, const float *restrict m)
{
    for (int i = 0; i < n; i++)
        for (int r = 0; r < 3; r++) {
            float s = m[4 * r + 3];
            for (int c = 0; c < 3; c++)
                s += m[4 * r + c] * in[3 * i + c];
            out[3 * i + r] = s;
        }
}

void turned(int n, float x[restrict n][4], float m[restrict n][4][4], float y[restrict n][4])
{
    for (int i = 0; i < n; i++)
        for (int r = 0; r < 4; r++) {
            y[i][r] = 0.0f;
            for (int c = 0; c < 4; c++)
                y[i][r] += m[i][c][r] * x[i][c];
        }
}
