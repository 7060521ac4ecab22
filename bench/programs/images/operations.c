/* Operations on images with any number of channels: two images, an image and a mask, a fill, an order of bytes. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline int by_255(int v) { return (v + 1 + (v >> 8)) >> 8; }

typedef enum { AVERAGE, BOTH, EITHER, GREATEST, LEAST, DIFFERENCE, SUM } Operation;

static inline uint8_t operate(uint8_t a, uint8_t b, Operation type)
{
    switch (type) {
    case AVERAGE:
        return (uint8_t)((a + b + 1) >> 1);
    case BOTH:
        return a & b;
    case EITHER:
        return a | b;
    case GREATEST:
        return a > b ? a : b;
    case LEAST:
        return a < b ? a : b;
    case DIFFERENCE:
        return (uint8_t)(a > b ? a - b : 0);
    case SUM:
        return (uint8_t)(a + b < 255 ? a + b : 255);
    }
    return 0;
}

void binary_average(const uint8_t *a, size_t a_stride, const uint8_t *b, size_t b_stride, size_t width, size_t height, size_t channels, uint8_t *dst, size_t dst_stride)
{
    size_t size = channels * width;
    for (size_t row = 0; row < height; ++row) {
        for (size_t i = 0; i < size; ++i)
            dst[i] = operate(a[i], b[i], AVERAGE);
        a += a_stride;
        b += b_stride;
        dst += dst_stride;
    }
}

void binary_sum(const uint8_t *a, size_t a_stride, const uint8_t *b, size_t b_stride, size_t width, size_t height, size_t channels, uint8_t *dst, size_t dst_stride)
{
    size_t size = channels * width;
    for (size_t row = 0; row < height; ++row) {
        for (size_t i = 0; i < size; ++i)
            dst[i] = operate(a[i], b[i], SUM);
        a += a_stride;
        b += b_stride;
        dst += dst_stride;
    }
}

void binary_select(const uint8_t *a, size_t a_stride, const uint8_t *b, size_t b_stride, size_t width, size_t height, size_t channels, uint8_t *dst, size_t dst_stride, int type)
{
    size_t size = channels * width;
    for (size_t row = 0; row < height; ++row) {
        for (size_t i = 0; i < size; ++i)
            dst[i] = operate(a[i], b[i], (Operation)type);
        a += a_stride;
        b += b_stride;
        dst += dst_stride;
    }
}

void subtract16(const uint8_t *a, size_t a_stride, const uint8_t *b, size_t b_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; ++row) {
        const int16_t *p = (const int16_t *)a, *q = (const int16_t *)b;
        int16_t *out = (int16_t *)dst;
        for (size_t col = 0; col < width; ++col)
            out[col] = (int16_t)(p[col] - q[col]);
        a += a_stride;
        b += b_stride;
        dst += dst_stride;
    }
}

void vector_product(const uint8_t *vertical, const uint8_t *horizontal, uint8_t *dst, size_t stride, size_t width, size_t height)
{
    for (size_t row = 0; row < height; ++row) {
        int v = vertical[row];
        for (size_t col = 0; col < width; ++col)
            dst[col] = (uint8_t)by_255(horizontal[col] * v);
        dst += stride;
    }
}

void alpha_filling(uint8_t *dst, size_t dst_stride, size_t width, size_t height, const uint8_t *channel, size_t channels, const uint8_t *alpha, size_t alpha_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0, offset = 0; col < width; ++col)
            for (size_t c = 0; c < channels; ++c, ++offset)
                dst[offset] = (uint8_t)by_255(channel[c] * alpha[col] + dst[offset] * (255 - alpha[col]));
        alpha += alpha_stride;
        dst += dst_stride;
    }
}

void alpha_blend_twice(const uint8_t *src0, size_t stride0, const uint8_t *src1, size_t stride1, size_t width, size_t height, size_t channels,
                       const uint8_t *alpha0, const uint8_t *alpha1, size_t alpha_stride, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0, offset = 0; col < width; ++col) {
            for (size_t end = offset + channels; offset < end; ++offset) {
                int first = by_255(src0[offset] * alpha0[col] + dst[offset] * (255 - alpha0[col]));
                dst[offset] = (uint8_t)by_255(src1[offset] * alpha1[col] + first * (255 - alpha1[col]));
            }
        }
        src0 += stride0;
        src1 += stride1;
        alpha0 += alpha_stride;
        alpha1 += alpha_stride;
        dst += dst_stride;
    }
}

void fill_bgr(uint8_t *dst, size_t stride, size_t width, size_t height, uint8_t blue, uint8_t green, uint8_t red)
{
    for (size_t row = 0; row < height; ++row) {
        uint8_t *p = dst;
        for (size_t col = 0; col < width; ++col) {
            *(p++) = blue;
            *(p++) = green;
            *(p++) = red;
        }
        dst += stride;
    }
}

void fill_pixel(uint8_t *dst, size_t stride, size_t width, size_t height, const uint8_t *pixel, size_t size)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col)
            for (size_t c = 0; c < size; ++c)
                dst[col * size + c] = pixel[c];
        dst += stride;
    }
}

void reorder32(const uint8_t *src, size_t size, uint8_t *dst)
{
    for (size_t i = 0; i < size; i += 4) {
        dst[i] = src[i + 3];
        dst[i + 1] = src[i + 2];
        dst[i + 2] = src[i + 1];
        dst[i + 3] = src[i];
    }
}

void reorder16(const uint8_t *src, size_t size, uint8_t *dst)
{
    const uint16_t *s = (const uint16_t *)src;
    uint16_t *d = (uint16_t *)dst;
    for (size_t i = 0; i < size / 2; ++i)
        d[i] = (uint16_t)((s[i] >> 8) | (s[i] << 8));
}

/* Masks of objects at two scales. */
void shrink_region(const uint8_t *mask, size_t stride, size_t width, size_t height, uint8_t index, uint8_t *any)
{
    for (size_t row = 0; row < height; ++row) {
        uint8_t found = 0;
        for (size_t col = 0; col < width; ++col)
            found |= mask[col] == index;
        any[row] = found;
        mask += stride;
    }
}

void fill_single_holes(uint8_t *dst, const uint8_t *mask, size_t stride, size_t width, size_t height, uint8_t index)
{
    for (size_t row = 1; row + 1 < height; ++row)
        for (size_t col = 1; col + 1 < width; ++col) {
            const uint8_t *p = mask + row * stride + col;
            if (p[-1] == index && p[1] == index && p[stride] == index && p[-(ptrdiff_t)stride] == index)
                dst[row * stride + col] = index;
        }
}

void binarise_average(const uint8_t *sums, const uint8_t *areas, size_t stride, size_t width, size_t height, uint8_t threshold,
                      uint8_t positive, uint8_t negative, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col)
            dst[col] = sums[col] * 255 > threshold * areas[col] ? positive : negative;
        sums += stride;
        areas += stride;
        dst += dst_stride;
    }
}
