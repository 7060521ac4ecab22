/* out[f][y][x] = sum of in[c][S y + r][S x + s] w[f][c][r][s]: one image, its border being there already.
 * WINDOW and STRIDE are those of the layer; BYTES: the image and the weights are bytes, whose sums are 32 bits wide;
 * HALVES: they are bf16, whose sums are floats. */
#include <stdint.h>
#ifndef WINDOW
#define WINDOW 3
#define STRIDE 1
#endif
#ifdef BYTES
typedef uint8_t pixel_t;
typedef int8_t weight_t;
typedef int32_t sum_t;
#elif defined(HALVES)
typedef __bf16 pixel_t, weight_t;
typedef float sum_t;
#else
typedef float pixel_t, weight_t, sum_t;
#endif

void conv2d(int nf, int nc, int oh, int ow, int ih, int iw, sum_t out[restrict nf][oh][ow],
            pixel_t in[restrict nc][ih][iw], weight_t weight[restrict nf][nc][WINDOW][WINDOW])
{
    for (int f = 0; f < nf; f++)
        for (int y = 0; y < oh; y++)
            for (int x = 0; x < ow; x++) {
                sum_t sum = 0;
                for (int c = 0; c < nc; c++)
                    for (int r = 0; r < WINDOW; r++)
                        for (int s = 0; s < WINDOW; s++)
                            sum += (sum_t)in[c][STRIDE * y + r][STRIDE * x + s] * (sum_t)weight[f][c][r][s];
                out[f][y][x] = sum;
            }
}
