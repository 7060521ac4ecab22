/* A model of what does not move: a lower and an upper bound for each pixel. */
#include <stddef.h>
#include <stdint.h>

void grow_range(const uint8_t *value, size_t value_stride, size_t width, size_t height,
                uint8_t *lo, size_t lo_stride, uint8_t *hi, size_t hi_stride)
{
    for (size_t y = 0; y < height; ++y) {
        for (size_t x = 0; x < width; ++x) {
            if (value[x] < lo[x])
                lo[x]--;
            if (value[x] > hi[x])
                hi[x]++;
        }
        value += value_stride;
        lo += lo_stride;
        hi += hi_stride;
    }
}

void shift_range(const uint8_t *value, int value_stride, int width, int height, uint8_t *lo, int lo_stride, uint8_t *hi, int hi_stride)
{
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            int add = value[y * value_stride + x] - hi[y * hi_stride + x];
            int sub = lo[y * lo_stride + x] - value[y * value_stride + x];
            int shift = add > 0 ? add : sub > 0 ? -sub : 0;
            int low = lo[y * lo_stride + x] + shift, high = hi[y * hi_stride + x] + shift;
            lo[y * lo_stride + x] = (uint8_t)(low < 0 ? 0 : low > 255 ? 255 : low);
            hi[y * hi_stride + x] = (uint8_t)(high < 0 ? 0 : high > 255 ? 255 : high);
        }
}

void update_average(const uint8_t *src, int width, int height, int stride, int16_t *average)
{
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            average[y * width + x] += (int16_t)((((int)src[y * stride + x] << 6) - average[y * width + x] + 8) >> 4);
}

/* How far each pixel lies outside of its bounds, with a weight. */
void add_feature_difference(const uint8_t *value, size_t value_stride, size_t width, size_t height, const uint8_t *lo, size_t lo_stride,
                            const uint8_t *hi, size_t hi_stride, uint16_t weight, uint8_t *difference, size_t difference_stride)
{
    for (size_t y = 0; y < height; ++y) {
        for (size_t x = 0; x < width; ++x) {
            int above = value[x] > hi[x] ? value[x] - hi[x] : 0;
            int below = lo[x] > value[x] ? lo[x] - value[x] : 0;
            int excess = above > below ? above : below;
            int sum = difference[x] + (weight * excess * excess >> 16);
            difference[x] = (uint8_t)(sum < 255 ? sum : 255);
        }
        value += value_stride;
        lo += lo_stride;
        hi += hi_stride;
        difference += difference_stride;
    }
}
