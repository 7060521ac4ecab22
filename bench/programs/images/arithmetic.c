/* Two images in, one out; numbers of 16 bits cut to 8; mixes. */
#include <stddef.h>
#include <stdint.h>

void average_images(const uint8_t *a, size_t a_stride, const uint8_t *b, size_t b_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++)
            dst[x] = (uint8_t)((a[x] + b[x] + 1) >> 1);
        a += a_stride, b += b_stride, dst += dst_stride;
    }
}

void saturated_subtraction(const uint8_t *a, const uint8_t *b, size_t stride, size_t width, size_t height, uint8_t *dst)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            int d = a[y * stride + x] - b[y * stride + x];
            dst[y * stride + x] = (uint8_t)(d > 0 ? d : 0);
        }
}

void int16_to_gray(const int16_t *src, size_t src_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 0; y < height; y++) {
        const int16_t *row = (const int16_t *)((const uint8_t *)src + y * src_stride);
        uint8_t *out = dst + y * dst_stride;
        for (size_t x = 0; x < width; x++)
            out[x] = (uint8_t)(row[x] < 0 ? 0 : row[x] > 255 ? 255 : row[x]);
    }
}

/* What a motion picture's predictor gives, rounded. */
void mix_weighted(const uint8_t *a, const uint8_t *b, size_t stride, size_t width, size_t height, uint8_t *dst)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            dst[y * stride + x] = (uint8_t)((a[y * stride + x] * 45 + b[y * stride + x] * 19 + 32) >> 6);
}

/* The same weight for all pixels. */
void blend_uniform(const uint8_t *src, size_t src_stride, size_t width, size_t height, size_t channels, uint8_t alpha, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 0; y < height; y++) {
        for (size_t i = 0; i < width * channels; i++) {
            int v = src[i] * alpha + dst[i] * (255 - alpha);
            dst[i] = (uint8_t)((v + 1 + (v >> 8)) >> 8);
        }
        src += src_stride;
        dst += dst_stride;
    }
}

void multiply_high(const uint16_t *a, const uint16_t *b, size_t count, uint16_t *dst)
{
    for (size_t i = 0; i < count; i++)
        dst[i] = (uint16_t)((uint32_t)a[i] * b[i] >> 16);
}
