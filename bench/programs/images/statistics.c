/* Histograms, sums and features of texture. */
#include <stddef.h>
#include <stdint.h>

void histogram(const uint8_t *src, size_t width, size_t height, size_t stride, uint32_t *bins)
{
    for (size_t i = 0; i < 256; i++)
        bins[i] = 0;
    for (size_t y = 0; y < height; y++) {
        const uint8_t *row = src + y * stride;
        for (size_t x = 0; x < width; x++)
            bins[row[x]]++;
    }
}

uint64_t squared_difference_sum(const uint8_t *a, size_t a_stride, const uint8_t *b, size_t b_stride, size_t width, size_t height)
{
    uint64_t sum = 0;
    for (size_t y = 0; y < height; y++) {
        uint32_t row = 0;
        for (size_t x = 0; x < width; x++) {
            int d = a[x] - b[x];
            row += d * d;
        }
        sum += row;
        a += a_stride;
        b += b_stride;
    }
    return sum;
}

void statistic(const uint8_t *src, size_t stride, size_t width, size_t height, uint8_t *least, uint8_t *most, uint8_t *average)
{
    uint8_t lo = 255, hi = 0;
    uint64_t sum = 0;
    for (size_t y = 0; y < height; y++) {
        const uint8_t *row = src + y * stride;
        for (size_t x = 0; x < width; x++) {
            uint8_t v = row[x];
            lo = v < lo ? v : lo;
            hi = v > hi ? v : hi;
            sum += v;
        }
    }
    *least = lo;
    *most = hi;
    *average = (uint8_t)((sum + width * height / 2) / (width * height));
}

/* A bit for each neighbour that is not darker. */
void local_binary_pattern(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t y = 1; y + 1 < height; y++) {
        const uint8_t *p = src + y * src_stride;
        uint8_t *out = dst + y * dst_stride;
        for (size_t x = 1; x + 1 < width; x++) {
            int v = p[x], code = 0;
            code |= (p[x - src_stride - 1] >= v) << 0;
            code |= (p[x - src_stride] >= v) << 1;
            code |= (p[x - src_stride + 1] >= v) << 2;
            code |= (p[x + 1] >= v) << 3;
            code |= (p[x + src_stride + 1] >= v) << 4;
            code |= (p[x + src_stride] >= v) << 5;
            code |= (p[x + src_stride - 1] >= v) << 6;
            code |= (p[x - 1] >= v) << 7;
            out[x] = (uint8_t)code;
        }
    }
}

void map_levels(const uint8_t *src, int src_stride, int width, int height, const uint8_t *table, uint8_t *dst, int dst_stride)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            dst[y * dst_stride + x] = table[src[y * src_stride + x]];
}
