/* out[f][y][x] = sum of in[c][S y + r][S x + s] w[f][c][r][s]: one image, its border being there already.
 * WINDOW and STRIDE are those of the layer. */
#ifndef WINDOW
#define WINDOW 3
#define STRIDE 1
#endif

void conv2d(int nf, int nc, int oh, int ow, int ih, int iw, float out[restrict nf][oh][ow],
            float in[restrict nc][ih][iw], float weight[restrict nf][nc][WINDOW][WINDOW])
{
    for (int f = 0; f < nf; f++)
        for (int y = 0; y < oh; y++)
            for (int x = 0; x < ow; x++) {
                float sum = 0;
                for (int c = 0; c < nc; c++)
                    for (int r = 0; r < WINDOW; r++)
                        for (int s = 0; s < WINDOW; s++)
                            sum += in[c][STRIDE * y + r][STRIDE * x + s] * weight[f][c][r][s];
                out[f][y][x] = sum;
            }
}
