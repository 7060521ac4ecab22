/* Contours of images: gradients with their direction, and maxima along these. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline uint16_t metric(int dx, int dy)
{
    dx = abs(dx);
    dy = abs(dy);
    return (uint16_t)((dx + dy) * 2 + (dx >= dy ? 0 : 1));
}

void contour_metrics(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint16_t *dst, size_t dst_stride)
{
    for (size_t row = 1; row + 1 < height; ++row) {
        const uint8_t *s0 = src + src_stride * (row - 1), *s1 = src + src_stride * row, *s2 = src + src_stride * (row + 1);
        uint16_t *out = dst + row * dst_stride;
        for (size_t col = 1; col + 1 < width; ++col) {
            int dx = (s0[col + 1] + 2 * s1[col + 1] + s2[col + 1]) - (s0[col - 1] + 2 * s1[col - 1] + s2[col - 1]);
            int dy = (s2[col - 1] + 2 * s2[col] + s2[col + 1]) - (s0[col - 1] + 2 * s0[col] + s0[col + 1]);
            out[col] = metric(dx, dy);
        }
    }
}

void contour_metrics_masked(const uint8_t *src, size_t src_stride, size_t width, size_t height, const uint8_t *mask, size_t mask_stride,
                            uint8_t least, uint16_t *dst, size_t dst_stride)
{
    for (size_t row = 1; row + 1 < height; ++row) {
        const uint8_t *s0 = src + src_stride * (row - 1), *s1 = src + src_stride * row, *s2 = src + src_stride * (row + 1);
        const uint8_t *m = mask + mask_stride * row;
        uint16_t *out = dst + row * dst_stride;
        for (size_t col = 1; col + 1 < width; ++col) {
            int dx = (s0[col + 1] + 2 * s1[col + 1] + s2[col + 1]) - (s0[col - 1] + 2 * s1[col - 1] + s2[col - 1]);
            int dy = (s2[col - 1] + 2 * s2[col] + s2[col + 1]) - (s0[col - 1] + 2 * s0[col] + s0[col + 1]);
            out[col] = m[col] < least ? 0 : metric(dx, dy);
        }
    }
}

void contour_anchors(const int16_t *src, size_t src_stride, size_t width, size_t height, int16_t threshold, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 1; row + 1 < height; ++row) {
        const int16_t *s = src + row * src_stride;
        uint8_t *out = dst + row * dst_stride;
        for (size_t col = 1; col + 1 < width; ++col) {
            const int16_t *p = s + col;
            uint8_t anchor = 0;
            if (p[0] > 0) {
                if (p[0] & 1) {
                    if (p[0] / 2 - p[1] / 2 >= threshold && p[0] / 2 - p[-1] / 2 >= threshold)
                        anchor = 255;
                } else {
                    if (p[0] / 2 - p[src_stride] / 2 >= threshold && p[0] / 2 - p[-(ptrdiff_t)src_stride] / 2 >= threshold)
                        anchor = 255;
                }
            }
            out[col] = anchor;
        }
    }
}

void boosted_gradients(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t saturation, uint8_t boost,
                       uint8_t *dx, size_t dx_stride, uint8_t *dy, size_t dy_stride)
{
    for (size_t row = 1; row + 1 < height; ++row) {
        const uint8_t *s = src + row * src_stride;
        uint8_t *h = dx + row * dx_stride, *v = dy + row * dy_stride;
        h[0] = 0;
        v[0] = 0;
        for (size_t col = 1; col + 1 < width; ++col) {
            int x = s[col + 1] - s[col - 1], y = s[col + src_stride] - s[col - src_stride];
            x = x < -saturation ? -saturation : x > saturation ? saturation : x;
            y = y < -saturation ? -saturation : y > saturation ? saturation : y;
            h[col] = (uint8_t)((saturation + x) * boost);
            v[col] = (uint8_t)((saturation + y) * boost);
        }
        h[width - 1] = 0;
        v[width - 1] = 0;
    }
}

void boosted_chroma(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t boost, uint8_t *dst, size_t dst_stride)
{
    int lo = 128 - 128 / boost, hi = 255 - lo;
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col) {
            int v = src[col] < lo ? lo : src[col] > hi ? hi : src[col];
            dst[col] = (uint8_t)((v - lo) * boost);
        }
        src += src_stride;
        dst += dst_stride;
    }
}

void compensate_shift(const uint8_t *src, size_t src_stride, size_t width, size_t height, int shift, uint8_t *dst, size_t dst_stride)
{
    if (shift == 0)
        return;
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col) {
            int v = src[col] + shift;
            dst[col] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
        src += src_stride;
        dst += dst_stride;
    }
}
