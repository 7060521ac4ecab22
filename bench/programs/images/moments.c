/* Sums over an image, or over the part of it that a mask chooses. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

uint64_t value_sum(const uint8_t *src, size_t stride, size_t width, size_t height)
{
    uint64_t sum = 0;
    for (size_t y = 0; y < height; y++) {
        const uint8_t *row = src + y * stride;
        for (size_t x = 0; x < width; x++)
            sum += row[x];
    }
    return sum;
}

uint64_t square_sum(const uint8_t *src, size_t stride, size_t width, size_t height)
{
    uint64_t sum = 0;
    for (size_t y = 0; y < height; y++) {
        uint32_t row_sum = 0;
        for (size_t x = 0; x < width; x++) {
            uint32_t value = src[x];
            row_sum += value * value;
        }
        sum += row_sum;
        src += stride;
    }
    return sum;
}

uint64_t correlation_sum(const uint8_t *a, size_t a_stride, const uint8_t *b, size_t b_stride, size_t width, size_t height)
{
    uint64_t sum = 0;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            sum += a[y * a_stride + x] * b[y * b_stride + x];
    return sum;
}

uint64_t absolute_difference_sum(const uint8_t *a, int a_stride, const uint8_t *b, int b_stride, int width, int height)
{
    uint64_t sum = 0;
    for (int y = 0; y < height; y++) {
        const uint8_t *p = a + y * a_stride, *q = b + y * b_stride;
        int row = 0;
        for (int x = 0; x < width; x++)
            row += abs(p[x] - q[x]);
        sum += row;
    }
    return sum;
}

/* Only where the mask has an index. */
uint64_t masked_difference_sum(const uint8_t *a, const uint8_t *b, const uint8_t *mask, size_t stride, uint8_t index, size_t width, size_t height)
{
    uint64_t sum = 0;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            int difference = abs(a[y * stride + x] - b[y * stride + x]);
            sum += mask[y * stride + x] == index ? difference : 0;
        }
    return sum;
}

uint64_t masked_sum(const uint8_t *src, size_t src_stride, size_t width, size_t height, const uint8_t *mask, size_t mask_stride, uint8_t value)
{
    uint64_t sum = 0;
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++)
            if (mask[x] > value)
                sum += src[x];
        src += src_stride;
        mask += mask_stride;
    }
    return sum;
}

uint64_t masked_square_sum(const uint8_t *src, size_t src_stride, size_t width, size_t height, const uint8_t *mask, size_t mask_stride, uint8_t value)
{
    uint64_t sum = 0;
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            int v = src[y * src_stride + x];
            if (mask[y * mask_stride + x] < value)
                sum += v * v;
        }
    }
    return sum;
}

uint32_t count_between(const int16_t *src, size_t stride, size_t width, size_t height, int16_t low, int16_t high)
{
    uint32_t count = 0;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            if (src[y * stride + x] >= low && src[y * stride + x] <= high)
                count++;
    return count;
}

/* One sum for each row. */
void row_sums(const uint8_t *src, size_t stride, size_t width, size_t height, uint32_t *sums)
{
    for (size_t y = 0; y < height; y++) {
        uint32_t sum = 0;
        for (size_t x = 0; x < width; x++)
            sum += src[x];
        sums[y] = sum;
        src += stride;
    }
}

/* One sum for each column. */
void column_sums(const uint8_t *src, size_t stride, size_t width, size_t height, uint32_t *sums)
{
    for (size_t x = 0; x < width; x++)
        sums[x] = 0;
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++)
            sums[x] += src[x];
        src += stride;
    }
}

/* The dot product of two rows of numbers with a sign. */
int64_t signed_dot(const int8_t *a, const int8_t *b, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}
