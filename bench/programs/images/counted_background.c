/* A background model that is adjusted by how often pixels were outside of it, everywhere or where a mask says so. */
#include <stddef.h>
#include <stdint.h>

static inline void step_lower(uint8_t count, uint8_t *value, int threshold)
{
    if (count > threshold) {
        if (*value > 0)
            (*value)--;
    } else if (count < threshold) {
        if (*value < 255)
            (*value)++;
    }
}

static inline void step_upper(uint8_t count, uint8_t *value, int threshold)
{
    if (count > threshold) {
        if (*value < 255)
            (*value)++;
    } else if (count < threshold) {
        if (*value > 0)
            (*value)--;
    }
}

void adjust_range(uint8_t *lo_count, size_t lo_count_stride, size_t width, size_t height, uint8_t *lo, size_t lo_stride,
                  uint8_t *hi_count, size_t hi_count_stride, uint8_t *hi, size_t hi_stride, uint8_t threshold)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col) {
            step_lower(lo_count[col], &lo[col], threshold);
            lo_count[col] = 0;
            step_upper(hi_count[col], &hi[col], threshold);
            hi_count[col] = 0;
        }
        lo_count += lo_count_stride;
        hi_count += hi_count_stride;
        lo += lo_stride;
        hi += hi_stride;
    }
}

void adjust_range_masked(uint8_t *count, size_t count_stride, size_t width, size_t height, uint8_t *lo, size_t lo_stride,
                         uint8_t threshold, const uint8_t *mask, size_t mask_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col) {
            if (mask[col])
                step_lower(count[col], &lo[col], threshold);
            count[col] = 0;
        }
        count += count_stride;
        lo += lo_stride;
        mask += mask_stride;
    }
}

void grow_range_fast(const uint8_t *value, size_t value_stride, size_t width, size_t height,
                     uint8_t *lo, size_t lo_stride, uint8_t *hi, size_t hi_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col) {
            if (value[col] < lo[col])
                lo[col] = value[col];
            if (value[col] > hi[col])
                hi[col] = value[col];
        }
        value += value_stride;
        lo += lo_stride;
        hi += hi_stride;
    }
}

void shift_range_masked(const uint8_t *value, size_t value_stride, size_t width, size_t height, uint8_t *lo, size_t lo_stride,
                        uint8_t *hi, size_t hi_stride, const uint8_t *mask, size_t mask_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col) {
            if (mask[col]) {
                int add = (int)value[col] - hi[col];
                int sub = (int)lo[col] - value[col];
                if (add > 0) {
                    lo[col] = (uint8_t)(lo[col] + add > 255 ? 255 : lo[col] + add);
                    hi[col] = (uint8_t)(hi[col] + add > 255 ? 255 : hi[col] + add);
                }
                if (sub > 0) {
                    lo[col] = (uint8_t)(lo[col] - sub < 0 ? 0 : lo[col] - sub);
                    hi[col] = (uint8_t)(hi[col] - sub < 0 ? 0 : hi[col] - sub);
                }
            }
        }
        value += value_stride;
        lo += lo_stride;
        hi += hi_stride;
        mask += mask_stride;
    }
}

void init_mask(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t index, uint8_t value, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col)
            if (src[col] == index)
                dst[col] |= value;
        src += src_stride;
        dst += dst_stride;
    }
}

/* Statistics that grow where a pixel is set, saturating, and shrink where it is not. */
void interference(int16_t *statistic, size_t stride, size_t width, size_t height, const uint8_t *mask, size_t mask_stride, uint8_t index,
                  uint8_t value, int16_t limit)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col) {
            if (mask[col] == index) {
                int next = statistic[col] + value;
                statistic[col] = (int16_t)(next < limit ? next : limit);
            }
        }
        statistic = (int16_t *)((uint8_t *)statistic + stride);
        mask += mask_stride;
    }
}
