/* Medians and means of windows over interleaved channels, with borders that repeat. */
#include <stddef.h>
#include <stdint.h>

static inline void order(int *a, int *b)
{
    int low = *a < *b ? *a : *b, high = *a < *b ? *b : *a;
    *a = low;
    *b = high;
}

static inline uint8_t median9(const uint8_t *y0, const uint8_t *y1, const uint8_t *y2, size_t x0, size_t x1, size_t x2)
{
    int a[9] = {y0[x0], y0[x1], y0[x2], y1[x0], y1[x1], y1[x2], y2[x0], y2[x1], y2[x2]};
    order(&a[1], &a[2]), order(&a[4], &a[5]), order(&a[7], &a[8]);
    order(&a[0], &a[1]), order(&a[3], &a[4]), order(&a[6], &a[7]);
    order(&a[1], &a[2]), order(&a[4], &a[5]), order(&a[7], &a[8]);
    order(&a[0], &a[3]), order(&a[5], &a[8]), order(&a[4], &a[7]);
    order(&a[3], &a[6]), order(&a[1], &a[4]), order(&a[2], &a[5]);
    order(&a[4], &a[7]), order(&a[4], &a[2]), order(&a[6], &a[4]);
    order(&a[4], &a[2]);
    return (uint8_t)a[4];
}

void median_square(const uint8_t *src, size_t src_stride, size_t width, size_t height, size_t channels, uint8_t *dst, size_t dst_stride)
{
    size_t size = channels * width;
    for (size_t row = 0; row < height; ++row, dst += dst_stride) {
        const uint8_t *y0 = src + src_stride * (row ? row - 1 : 0);
        const uint8_t *y1 = src + src_stride * row;
        const uint8_t *y2 = src + src_stride * (row + 1 < height ? row + 1 : row);
        size_t x = 0;
        for (; x < channels; x++)
            dst[x] = median9(y0, y1, y2, x, x, x + channels);
        for (; x < size - channels; ++x)
            dst[x] = median9(y0, y1, y2, x - channels, x, x + channels);
        for (; x < size; ++x)
            dst[x] = median9(y0, y1, y2, x - channels, x, x);
    }
}

static inline int binomial3(const uint8_t *p, size_t left, size_t middle, size_t right) { return p[left] + 2 * p[middle] + p[right]; }

void gaussian_bordered(const uint8_t *src, size_t src_stride, size_t width, size_t height, size_t channels, uint8_t *dst, size_t dst_stride)
{
    size_t size = channels * width;
    for (size_t row = 0; row < height; ++row) {
        const uint8_t *y0 = src + src_stride * (row ? row - 1 : 0);
        const uint8_t *y1 = src + src_stride * row;
        const uint8_t *y2 = src + src_stride * (row + 1 < height ? row + 1 : row);
        size_t x = 0;
        for (; x < channels; x++)
            dst[x] = (uint8_t)((binomial3(y0, x, x, x + channels) + 2 * binomial3(y1, x, x, x + channels) + binomial3(y2, x, x, x + channels) + 8) >> 4);
        for (; x < size - channels; ++x)
            dst[x] = (uint8_t)((binomial3(y0, x - channels, x, x + channels) + 2 * binomial3(y1, x - channels, x, x + channels) +
                                binomial3(y2, x - channels, x, x + channels) + 8) >> 4);
        for (; x < size; ++x)
            dst[x] = (uint8_t)((binomial3(y0, x - channels, x, x) + 2 * binomial3(y1, x - channels, x, x) + binomial3(y2, x - channels, x, x) + 8) >> 4);
        dst += dst_stride;
    }
}

/* The mean of three by three, the sums of columns kept in a buffer. */
void mean_of_columns(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint16_t *sums, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 1; row + 1 < height; ++row) {
        const uint8_t *p = src + row * src_stride;
        uint8_t *out = dst + row * dst_stride;
        for (size_t col = 0; col < width; ++col)
            sums[col] = (uint16_t)(p[col - src_stride] + p[col] + p[col + src_stride]);
        for (size_t col = 1; col + 1 < width; ++col)
            out[col] = (uint8_t)((sums[col - 1] + sums[col] + sums[col + 1] + 5) / 9);
    }
}

void absolute_difference_bgr(const uint8_t *a, size_t a_stride, const uint8_t *b, size_t b_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col) {
            int sum = 0;
            for (size_t c = 0; c < 3; ++c) {
                int d = a[3 * col + c] - b[3 * col + c];
                sum += d < 0 ? -d : d;
            }
            dst[col] = (uint8_t)(sum < 255 ? sum : 255);
        }
        a += a_stride;
        b += b_stride;
        dst += dst_stride;
    }
}
