/* Windows over narrow numbers: bytes of either sign in flat arrays, 16 bits, groups, a border, a stride, holes. */

#include <stdint.h>

void flat(int nf, int nc, int oh, int ow, const uint8_t *restrict in, const int8_t *restrict weights,
          int32_t *restrict out)
{
    for (int f = 0; f < nf; f++)
        for (int y = 0; y < oh; y++)
            for (int x = 0; x < ow; x++) {
                int32_t sum = 0;
                for (int c = 0; c < nc; c++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            sum += in[(c * (oh + 2) + y + r) * (ow + 2) + x + s] * weights[((f * nc + c) * 3 + r) * 3 + s];
                out[(f * oh + y) * ow + x] = sum;
            }
}

void added(int nf, int nc, int oh, int ow, int8_t in[restrict nc][2 * oh + 3][2 * ow + 3],
           uint8_t weights[restrict nf][nc][5][5], int32_t out[restrict nf][oh][ow])
{
    for (int c = 0; c < nc; c++)
        for (int r = 0; r < 5; r++)
            for (int s = 0; s < 5; s++)
                for (int f = 0; f < nf; f++)
                    for (int y = 0; y < oh; y++)
                        for (int x = 0; x < ow; x++)
                            out[f][y][x] += in[c][2 * y + r][2 * x + s] * weights[f][c][r][s];
}

void grouped(int ng, int nf, int nc, int oh, int ow, int16_t in[restrict ng][nc][oh + 4][ow + 2],
             int16_t weights[restrict ng][nf][nc][3][2], int32_t out[restrict ng][nf][oh + 1][ow])
{
    for (int g = 0; g < ng; g++)
        for (int f = 0; f < nf; f++)
            for (int y = 0; y < oh; y++)
                for (int x = 0; x < ow; x++) {
                    out[g][f][y][x] = 0;
                    for (int c = 0; c < nc; c++)
                        for (int r = 0; r < 3; r++)
                            for (int s = 0; s < 2; s++)
                                out[g][f][y][x] += in[g][c][y + 2 * r][x + 2 * s] * weights[g][f][c][r][s];
                }
}

void batch(int nb, int nf, int nc, int oh, int ow, int16_t in[restrict nb][nc][oh + 2][ow + 2],
           int16_t weights[restrict nf][nc][3][3], int32_t out[restrict nb][nf][oh][ow])
{
    for (int b = 0; b < nb; b++)
        for (int f = 0; f < nf; f++)
            for (int y = 0; y < oh; y++)
                for (int x = 0; x < ow; x++) {
                    int32_t sum = 0;
                    for (int c = 0; c < nc; c++)
                        for (int r = 0; r < 3; r++)
                            for (int s = 0; s < 3; s++)
                                sum += in[b][c][y + r][x + s] * weights[f][c][r][s];
                    out[b][f][y][x] = sum;
                }
}
