/* Sums over images: differences of neighbours, gradients, moments, by rows, by columns, where conditions hold. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline int square(int x) { return x * x; }

static inline int absolute(int a, int b) { return a > b ? a - b : b - a; }

uint64_t masked_squared_difference_sum(const uint8_t *a, size_t a_stride, const uint8_t *b, size_t b_stride, const uint8_t *mask, size_t mask_stride,
                                       uint8_t index, size_t width, size_t height)
{
    uint64_t sum = 0;
    for (size_t row = 0; row < height; ++row) {
        int row_sum = 0;
        for (size_t col = 0; col < width; ++col)
            if (mask[col] == index)
                row_sum += square((int)a[col] - b[col]);
        sum += row_sum;
        a += a_stride;
        b += b_stride;
        mask += mask_stride;
    }
    return sum;
}

uint64_t masked_gradient_sum(const uint8_t *src, size_t src_stride, size_t width, size_t height, const uint8_t *mask, size_t mask_stride, uint8_t value)
{
    uint64_t sum = 0;
    src += src_stride;
    mask += mask_stride;
    for (size_t row = 1; row + 1 < height; ++row) {
        uint32_t row_sum = 0;
        for (size_t col = 1; col + 1 < width; ++col)
            if (mask[col] > value)
                row_sum += square(src[col + 1] - src[col - 1]) + square(src[col + src_stride] - src[col - src_stride]);
        sum += row_sum;
        src += src_stride;
        mask += mask_stride;
    }
    return sum;
}

uint64_t sobel_dx_sum(const uint8_t *src, size_t stride, size_t width, size_t height)
{
    uint64_t sum = 0;
    for (size_t row = 1; row + 1 < height; ++row) {
        const uint8_t *s0 = src + stride * (row - 1), *s1 = s0 + stride, *s2 = s1 + stride;
        uint32_t row_sum = 0;
        for (size_t col = 1; col + 1 < width; ++col)
            row_sum += abs((s0[col + 1] + 2 * s1[col + 1] + s2[col + 1]) - (s0[col - 1] + 2 * s1[col - 1] + s2[col - 1]));
        sum += row_sum;
    }
    return sum;
}

void row_sums_dy(const uint8_t *src, size_t stride, size_t width, size_t height, uint32_t *sums)
{
    const uint8_t *next = src + stride;
    for (size_t row = 0; row + 1 < height; ++row) {
        uint32_t sum = 0;
        for (size_t col = 0; col < width; ++col)
            sum += absolute(next[col], src[col]);
        sums[row] = sum;
        src += stride;
        next += stride;
    }
}

void column_sums_dx(const uint8_t *src, size_t stride, size_t width, size_t height, uint32_t *sums)
{
    for (size_t col = 0; col + 1 < width; ++col)
        sums[col] = 0;
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col + 1 < width; ++col)
            sums[col] += absolute(src[col + 1], src[col]);
        src += stride;
    }
}

void moments(const uint8_t *mask, size_t stride, size_t width, size_t height, uint8_t index,
             uint64_t *area, uint64_t *x, uint64_t *y, uint64_t *xx)
{
    uint64_t s = 0, sx = 0, sy = 0, sxx = 0;
    for (size_t row = 0; row < height; ++row) {
        uint64_t row_sum = 0;
        for (size_t col = 0; col < width; ++col) {
            if (mask[col] == index) {
                row_sum++;
                sx += col;
                sxx += col * col;
            }
        }
        s += row_sum;
        sy += row_sum * row;
        mask += stride;
    }
    *area = s;
    *x = sx;
    *y = sy;
    *xx = sxx;
}

/* Sums of differences for nine shifts of one image against the other. */
void difference_sums3x3(const uint8_t *current, size_t current_stride, const uint8_t *background, size_t background_stride,
                        size_t width, size_t height, uint64_t *sums)
{
    size_t i;
    for (i = 0; i < 9; ++i)
        sums[i] = 0;
    current += 1 + current_stride;
    background += 1 + background_stride;
    for (size_t row = 0; row < height - 2; ++row) {
        int row_sums[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
        for (size_t col = 0; col < width - 2; ++col) {
            const uint8_t value = current[col];
            const uint8_t *p = background + col - background_stride;
            row_sums[0] += absolute(value, p[-1]);
            row_sums[1] += absolute(value, p[0]);
            row_sums[2] += absolute(value, p[1]);
            p += background_stride;
            row_sums[3] += absolute(value, p[-1]);
            row_sums[4] += absolute(value, p[0]);
            row_sums[5] += absolute(value, p[1]);
            p += background_stride;
            row_sums[6] += absolute(value, p[-1]);
            row_sums[7] += absolute(value, p[0]);
            row_sums[8] += absolute(value, p[1]);
        }
        for (i = 0; i < 9; ++i)
            sums[i] += row_sums[i];
        current += current_stride;
        background += background_stride;
    }
}

/* How a texture would change the sum: the clamped differences. */
void texture_difference_sum(const uint8_t *src, size_t src_stride, size_t width, size_t height, const uint8_t *lo, size_t lo_stride,
                            const uint8_t *hi, size_t hi_stride, int64_t *sum)
{
    int64_t total = 0;
    for (size_t row = 0; row < height; ++row) {
        int row_sum = 0;
        for (size_t col = 0; col < width; ++col) {
            int current = src[col];
            int average = (lo[col] + hi[col] + 1) / 2;
            row_sum += current - average;
        }
        total += row_sum;
        src += src_stride;
        lo += lo_stride;
        hi += hi_stride;
    }
    *sum = total;
}
