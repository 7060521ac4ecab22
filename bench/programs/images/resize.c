/* Images of half the size. */
#include <stddef.h>
#include <stdint.h>

void reduce2x2(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 0; y < height; y++) {
        const uint8_t *p = src + 2 * y * src_stride, *q = p + src_stride;
        uint8_t *out = dst + y * dst_stride;
        for (size_t x = 0; x < width; x++)
            out[x] = (uint8_t)((p[2 * x] + p[2 * x + 1] + q[2 * x] + q[2 * x + 1] + 2) >> 2);
    }
}

void reduce2x2_bgra(const uint8_t *src, int src_stride, int width, int height, uint8_t *dst, int dst_stride)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 4; c++)
                dst[y * dst_stride + 4 * x + c] =
                    (uint8_t)((src[2 * y * src_stride + 8 * x + c] + src[2 * y * src_stride + 8 * x + 4 + c] +
                               src[(2 * y + 1) * src_stride + 8 * x + c] + src[(2 * y + 1) * src_stride + 8 * x + 4 + c] + 2) >> 2);
}

void stretch2x2(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 0; y < height; y++) {
        uint8_t *even = dst + 2 * y * dst_stride, *odd = even + dst_stride;
        for (size_t x = 0; x < width; x++) {
            even[2 * x] = src[x];
            even[2 * x + 1] = src[x];
            odd[2 * x] = src[x];
            odd[2 * x + 1] = src[x];
        }
        src += src_stride;
    }
}

/* Rows between two rows, in sixteenths. */
void blend_rows(const uint8_t *a, const uint8_t *b, int width, int fraction, uint8_t *out)
{
    for (int x = 0; x < width; x++)
        out[x] = (uint8_t)((a[x] * (16 - fraction) + b[x] * fraction + 8) >> 4);
}
