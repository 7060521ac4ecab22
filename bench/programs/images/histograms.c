/* Histograms of second derivatives, under masks and conditions; levels from a table. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline int average_of(const uint8_t *src, ptrdiff_t step, ptrdiff_t indent)
{
    int side = (src[indent * step] + src[-indent * step] + 1) >> 1;
    return src[0] > side ? src[0] - side : side - src[0];
}

static inline int larger(int a, int b) { return a > b ? a : b; }

void second_derivative_histogram(const uint8_t *src, size_t width, size_t height, size_t stride, size_t step, size_t indent, uint32_t *bins)
{
    memset(bins, 0, 256 * sizeof(uint32_t));
    src += indent * (stride + 1);
    for (size_t row = indent; row + indent < height; ++row) {
        for (size_t col = indent; col + indent < width; ++col) {
            int dy = average_of(src + col - indent, stride, step);
            int dx = average_of(src + col - indent, 1, step);
            ++bins[larger(dx, dy)];
        }
        src += stride;
    }
}

void masked_histogram(const uint8_t *src, size_t src_stride, size_t width, size_t height, const uint8_t *mask, size_t mask_stride, uint8_t index, uint32_t *bins)
{
    memset(bins, 0, 256 * sizeof(uint32_t));
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col)
            if (mask[col] == index)
                ++bins[src[col]];
        src += src_stride;
        mask += mask_stride;
    }
}

void conditional_histogram(const uint8_t *src, size_t src_stride, size_t width, size_t height, uint8_t value, uint32_t *bins)
{
    memset(bins, 0, 256 * sizeof(uint32_t));
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col)
            if (src[col] >= value)
                bins[src[col]]++;
        src += src_stride;
    }
}

void change_colors(const uint8_t *src, size_t src_stride, size_t width, size_t height, const uint8_t *colors, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col)
            dst[col] = colors[src[col]];
        src += src_stride;
        dst += dst_stride;
    }
}

/* Levels of each channel by a table of its own. */
void map_channels(const uint8_t *src, size_t src_stride, size_t width, size_t height, const uint8_t *red, const uint8_t *green, const uint8_t *blue,
                  uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0, offset = 0; col < width; ++col, offset += 3) {
            dst[offset + 0] = blue[src[offset + 0]];
            dst[offset + 1] = green[src[offset + 1]];
            dst[offset + 2] = red[src[offset + 2]];
        }
        src += src_stride;
        dst += dst_stride;
    }
}
