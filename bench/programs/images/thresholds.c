/* Thresholds: what is above a value, and how often. */
#include <stddef.h>
#include <stdint.h>

void binarise(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t value, uint8_t positive, uint8_t negative,
              uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 0; y < height; ++y) {
        for (size_t x = 0; x < width; ++x)
            dst[x] = src[x] > value ? positive : negative;
        src += src_stride;
        dst += dst_stride;
    }
}

uint32_t count_greater(const uint8_t *src, size_t stride, size_t width, size_t height, uint8_t value)
{
    uint32_t count = 0;
    for (size_t y = 0; y < height; ++y) {
        const uint8_t *row = src + y * stride;
        for (size_t x = 0; x < width; ++x)
            if (row[x] > value)
                count++;
    }
    return count;
}

void fill_where(const uint8_t *mask, size_t mask_stride, size_t width, size_t height, uint8_t index, uint8_t value, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 0; y < height; ++y) {
        const uint8_t *m = mask + y * mask_stride;
        uint8_t *out = dst + y * dst_stride;
        for (size_t x = 0; x < width; ++x)
            if (m[x] == index)
                out[x] = value;
    }
}
