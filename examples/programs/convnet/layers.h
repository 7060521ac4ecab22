/* Layers of a network on images, channels before rows. */
#ifndef LAYERS_H
#define LAYERS_H

/* out[f][y][x] = bias[f] + sum of in[c][y + r][x + s] weight[f][c][r][s], where the filter lies in the image. */
void convolve(int filters, int channels, int height, int width, int size, const float *in, const float *weight,
              const float *bias, float *out);

/* What is negative becomes 0. */
void rectify(int channels, int height, int width, float *x);

/* The greatest of each 2 x 2 elements; height and width are those of the result, rows of in are `stride` long. */
void pool(int channels, int height, int width, int rows, int stride, const float *in, float *out);

/* out = weight in + bias for a batch of rows. */
void connect(int batch, int outputs, int inputs, const float *in, const float *weight, const float *bias, float *out);

#endif
