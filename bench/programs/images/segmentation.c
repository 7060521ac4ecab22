/* Masks of objects, and a background of edges. */
#include <stddef.h>
#include <stdint.h>

void change_index(uint8_t *mask, size_t stride, size_t width, size_t height, uint8_t old, uint8_t fresh)
{
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++)
            if (mask[x] == old)
                mask[x] = fresh;
        mask += stride;
    }
}

void fill_holes(uint8_t *mask, size_t stride, size_t width, size_t height, uint8_t index)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            mask[y * stride + x] = mask[y * stride + x] == 0 ? index : mask[y * stride + x];
}

/* Where a parent is an object, and the difference large enough, children are, too. */
void propagate(const uint8_t *parent, size_t parent_stride, size_t width, size_t height, const uint8_t *difference, size_t difference_stride,
               uint8_t current, uint8_t invalid, uint8_t threshold, uint8_t *child, size_t child_stride)
{
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            uint8_t old = child[x];
            uint8_t next = difference[x] > threshold ? current : invalid;
            child[x] = parent[x] == current && old < invalid ? next : old;
        }
        parent += parent_stride;
        difference += difference_stride;
        child += child_stride;
    }
}

void edge_grow(const uint8_t *value, size_t value_stride, size_t width, size_t height, uint8_t *background, size_t background_stride)
{
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++)
            if (value[x] > background[x])
                background[x]++;
        value += value_stride;
        background += background_stride;
    }
}

void edge_adjust(uint8_t *count, size_t count_stride, size_t width, size_t height, uint8_t *value, size_t value_stride, uint8_t threshold)
{
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            if (count[x] < threshold) {
                if (value[x] > 0)
                    value[x]--;
            } else if (count[x] > threshold) {
                if (value[x] < 255)
                    value[x]++;
            }
            count[x] = 0;
        }
        value += value_stride;
        count += count_stride;
    }
}

void count_range(const uint8_t *value, size_t value_stride, size_t width, size_t height, const uint8_t *lo, const uint8_t *hi, size_t range_stride,
                 uint8_t *below, uint8_t *above, size_t count_stride)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            uint8_t v = value[y * value_stride + x];
            uint8_t under = below[y * count_stride + x], over = above[y * count_stride + x];
            below[y * count_stride + x] = v < lo[y * range_stride + x] && under < 255 ? under + 1 : under;
            above[y * count_stride + x] = v > hi[y * range_stride + x] && over < 255 ? over + 1 : over;
        }
}
