/* Layers of a convolutional network, each in the loops of its definition. */
#include "layers.h"

void convolve(int filters, int channels, int height, int width, int size, const float *in, const float *weight,
              const float *bias, float *out)
{
    int rows = height - size + 1, columns = width - size + 1;

    for (int f = 0; f < filters; f++)
        for (int y = 0; y < rows; y++)
            for (int x = 0; x < columns; x++) {
                float sum = bias[f];
                for (int c = 0; c < channels; c++)
                    for (int r = 0; r < size; r++)
                        for (int s = 0; s < size; s++)
                            sum += in[(c * height + y + r) * width + x + s]
                                   * weight[((f * channels + c) * size + r) * size + s];
                out[(f * rows + y) * columns + x] = sum;
            }
}

void rectify(int channels, int height, int width, float *x)
{
    for (int t = 0; t < channels * height * width; t++)
        x[t] = x[t] > 0 ? x[t] : 0;
}

void pool(int channels, int height, int width, int rows, int stride, const float *in, float *out)
{
    for (int c = 0; c < channels; c++)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                float most = in[(c * rows + 2 * y) * stride + 2 * x];
                for (int r = 0; r < 2; r++)
                    for (int s = 0; s < 2; s++) {
                        float v = in[(c * rows + 2 * y + r) * stride + 2 * x + s];
                        most = v > most ? v : most;
                    }
                out[(c * height + y) * width + x] = most;
            }
}

void connect(int batch, int outputs, int inputs, const float *in, const float *weight, const float *bias, float *out)
{
    for (int b = 0; b < batch; b++)
        for (int o = 0; o < outputs; o++) {
            float sum = bias[o];
            for (int i = 0; i < inputs; i++)
                sum += in[b * inputs + i] * weight[o * inputs + i];
            out[b * outputs + o] = sum;
        }
}
