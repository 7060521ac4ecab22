/* Images of other sizes: means of windows, tables of places and weights, shifts by parts of a pixel. */
#include <stddef.h>
#include <stdint.h>

static inline int binomial(int a, int b, int c, int d) { return a + 3 * (b + c) + d; }

void reduce4x4(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; ++row) {
        const uint8_t *s0 = src, *s1 = s0 + src_stride, *s2 = s1 + src_stride, *s3 = s2 + src_stride;
        for (size_t col = 0; col < width; ++col) {
            const size_t x = 2 * col;
            dst[col] = (uint8_t)((binomial(
                binomial(s0[x], s0[x + 1], s0[x + 2], s0[x + 3]), binomial(s1[x], s1[x + 1], s1[x + 2], s1[x + 3]),
                binomial(s2[x], s2[x + 1], s2[x + 2], s2[x + 3]), binomial(s3[x], s3[x + 1], s3[x + 2], s3[x + 3])) + 32) >> 6);
        }
        src += 2 * src_stride;
        dst += dst_stride;
    }
}

void reduce3x3(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; ++row) {
        const uint8_t *a = src, *b = a + src_stride, *c = b + src_stride;
        for (size_t col = 0; col < width; ++col) {
            int top = a[2 * col] + 2 * a[2 * col + 1] + a[2 * col + 2];
            int middle = b[2 * col] + 2 * b[2 * col + 1] + b[2 * col + 2];
            int low = c[2 * col] + 2 * c[2 * col + 1] + c[2 * col + 2];
            dst[col] = (uint8_t)((top + 2 * middle + low + 8) >> 4);
        }
        src += 2 * src_stride;
        dst += dst_stride;
    }
}

void mean4x4(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col) {
            int sum = 0;
            for (size_t y = 0; y < 4; ++y)
                for (size_t x = 0; x < 4; ++x)
                    sum += src[y * src_stride + 4 * col + x];
            dst[col] = (uint8_t)((sum + 8) / 16);
        }
        src += 4 * src_stride;
        dst += dst_stride;
    }
}

/* Two columns of a row, by tables of places and weights, for any number of channels. */
void interpolate_row(const uint8_t *src, const int32_t *place, const int32_t *alpha, size_t width, size_t channels, int32_t *dst)
{
    for (size_t x = 0; x < width; ++x)
        for (size_t c = 0; c < channels; ++c) {
            const uint8_t *p = src + place[x] * channels + c;
            dst[x * channels + c] = (p[0] << 7) + (p[channels] - p[0]) * alpha[x];
        }
}

void interpolate_columns(const int32_t *upper, const int32_t *lower, size_t size, int32_t weight, uint8_t *dst)
{
    for (size_t i = 0; i < size; ++i)
        dst[i] = (uint8_t)(((upper[i] << 7) + (lower[i] - upper[i]) * weight + (1 << 13)) >> 14);
}

/* An image moved by 16ths of a pixel both ways. */
void shift_bilinear(const uint8_t *src, size_t src_stride, size_t width, size_t height, size_t channels, int fx, int fy, uint8_t *dst, size_t dst_stride)
{
    size_t size = width * channels;
    int k00 = (16 - fx) * (16 - fy), k01 = fx * (16 - fy), k10 = (16 - fx) * fy, k11 = fx * fy;
    for (size_t row = 0; row < height; ++row) {
        for (size_t x = 0; x < size; ++x)
            dst[x] = (uint8_t)((src[x] * k00 + src[x + channels] * k01 + src[x + src_stride] * k10 + src[x + src_stride + channels] * k11 + 128) >> 8);
        src += src_stride;
        dst += dst_stride;
    }
}

void nearest_row(const uint8_t *src, const int32_t *place, size_t width, uint8_t *dst)
{
    for (size_t x = 0; x < width; ++x)
        dst[x] = src[place[x]];
}

void average_rows(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; row += 1) {
        const uint8_t *next = src + src_stride;
        for (size_t col = 0; col < width; ++col)
            dst[col] = (uint8_t)((src[col] + next[col] + 1) >> 1);
        src += 2 * src_stride;
        dst += dst_stride;
    }
}
