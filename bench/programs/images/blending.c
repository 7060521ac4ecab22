/* Two images mixed by weights of 8 bits. */
#include <stddef.h>
#include <stdint.h>

static uint8_t divide_by_255(int v) { return (uint8_t)((v + 1 + (v >> 8)) >> 8); }

void alpha_blend(const uint8_t *src, size_t src_stride, size_t width, size_t height, size_t channels,
                 const uint8_t *alpha, size_t alpha_stride, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 0; y < height; ++y) {
        for (size_t x = 0; x < width; ++x)
            for (size_t c = 0; c < channels; ++c)
                dst[x * channels + c] = divide_by_255(src[x * channels + c] * alpha[x] + dst[x * channels + c] * (255 - alpha[x]));
        src += src_stride;
        alpha += alpha_stride;
        dst += dst_stride;
    }
}

void alpha_blend_gray(const uint8_t *src, size_t src_stride, size_t width, size_t height,
                      const uint8_t *alpha, size_t alpha_stride, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 0; y < height; ++y) {
        for (size_t x = 0; x < width; ++x)
            dst[x] = divide_by_255(src[x] * alpha[x] + dst[x] * (255 - alpha[x]));
        src += src_stride;
        alpha += alpha_stride;
        dst += dst_stride;
    }
}

/* Colours of four channels times the last one. */
void premultiply(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 0; y < height; ++y) {
        const uint8_t *s = src + y * src_stride;
        uint8_t *d = dst + y * dst_stride;
        for (size_t x = 0; x < width; ++x) {
            int a = s[4 * x + 3];
            d[4 * x + 0] = divide_by_255(s[4 * x + 0] * a);
            d[4 * x + 1] = divide_by_255(s[4 * x + 1] * a);
            d[4 * x + 2] = divide_by_255(s[4 * x + 2] * a);
            d[4 * x + 3] = (uint8_t)a;
        }
    }
}

void absolute_difference(const uint8_t *a, int a_stride, const uint8_t *b, int b_stride, int width, int height, uint8_t *c, int c_stride)
{
    for (int y = 0; y < height; ++y) {
        const uint8_t *p = a + y * a_stride, *q = b + y * b_stride;
        uint8_t *out = c + y * c_stride;
        for (int x = 0; x < width; ++x)
            out[x] = p[x] > q[x] ? p[x] - q[x] : q[x] - p[x];
    }
}
