/* Gradients of grey images, rows `stride` bytes apart. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static int least(int a, int b) { return a < b ? a : b; }

/* The sum of both absolute differences beside a pixel, at most 255; pixels of the border are 0. */
void abs_gradient(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 1; y + 1 < height; y++) {
        const uint8_t *above = src + (y - 1) * src_stride;
        const uint8_t *row = src + y * src_stride;
        const uint8_t *below = src + (y + 1) * src_stride;
        uint8_t *out = dst + y * dst_stride;
        for (size_t x = 1; x + 1 < width; x++) {
            int dx = abs(row[x + 1] - row[x - 1]);
            int dy = abs(below[x] - above[x]);
            out[x] = (uint8_t)least(dx + dy, 255);
        }
    }
}

/* Sobel's operator down the image, as numbers with a sign. */
void sobel_dy(const uint8_t *src, size_t src_stride, size_t width, size_t height, int16_t *dst, size_t dst_stride)
{
    for (size_t y = 1; y + 1 < height; y++) {
        const uint8_t *a = src + (y - 1) * src_stride, *b = src + (y + 1) * src_stride;
        int16_t *out = (int16_t *)((uint8_t *)dst + y * dst_stride);
        for (size_t x = 1; x + 1 < width; x++)
            out[x] = (int16_t)((b[x - 1] + 2 * b[x] + b[x + 1]) - (a[x - 1] + 2 * a[x] + a[x + 1]));
    }
}

/* Laplace's operator of eight neighbours, its absolute value. */
void laplace_abs(const uint8_t *src, int src_stride, int width, int height, int16_t *dst, int dst_stride)
{
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            int sum = 0;
            for (int j = -1; j <= 1; j++)
                for (int i = -1; i <= 1; i++)
                    sum += src[(y + j) * src_stride + x + i];
            dst[y * dst_stride + x] = (int16_t)abs(9 * src[y * src_stride + x] - sum);
        }
}
