/* Small filters over any number of interleaved channels. */
#include <stddef.h>
#include <stdint.h>

#define SORT(a, b) { int t_ = a < b ? a : b; b = a < b ? b : a; a = t_; }

void mean3x3(const uint8_t *src, size_t src_stride, size_t width, size_t height, size_t channels, uint8_t *dst, size_t dst_stride)
{
    size_t size = channels * width;
    for (size_t y = 1; y + 1 < height; y++) {
        const uint8_t *a = src + (y - 1) * src_stride, *b = src + y * src_stride, *c = src + (y + 1) * src_stride;
        uint8_t *out = dst + y * dst_stride;
        for (size_t x = channels; x < size - channels; x++)
            out[x] = (uint8_t)((a[x - channels] + a[x] + a[x + channels] + b[x - channels] + b[x] + b[x + channels] +
                                c[x - channels] + c[x] + c[x + channels] + 5) * 7282 >> 16);
    }
}

void blur_rgb(const uint8_t *src, int src_stride, int width, int height, uint8_t *dst, int dst_stride)
{
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++)
            for (int c = 0; c < 3; c++) {
                int sum = 0;
                for (int j = -1; j <= 1; j++) {
                    const uint8_t *p = src + (y + j) * src_stride + 3 * x + c;
                    sum += (2 - j * j) * (p[-3] + 2 * p[0] + p[3]);
                }
                dst[y * dst_stride + 3 * x + c] = (uint8_t)((sum + 8) >> 4);
            }
}

/* The median of a pixel and its four neighbours. */
void median_rhomb(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 1; y + 1 < height; y++) {
        const uint8_t *p = src + y * src_stride;
        for (size_t x = 1; x + 1 < width; x++) {
            int a = p[x - src_stride], b = p[x - 1], c = p[x], d = p[x + 1], e = p[x + src_stride];
            SORT(a, b);
            SORT(d, e);
            SORT(a, d);
            SORT(b, e);
            SORT(b, c);
            SORT(c, d);
            SORT(b, c);
            dst[y * dst_stride + x] = (uint8_t)c;
        }
    }
}

/* The greatest of three by three, in place of a morphological filter. */
void erode3x3(const uint8_t *src, int stride, int width, int height, uint8_t *dst)
{
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            uint8_t least = 255;
            for (int j = -1; j <= 1; j++)
                for (int i = -1; i <= 1; i++) {
                    uint8_t v = src[(y + j) * stride + x + i];
                    if (v < least)
                        least = v;
                }
            dst[y * stride + x] = least;
        }
}
