/* Pixels between pixels, running sums, more conversions of pixels. */
#include <stddef.h>
#include <stdint.h>

/* Columns between two columns: weights of 7 bits for each of them, along a row. */
void bilinear_columns(const uint8_t *src, const uint8_t *weights, size_t width, uint8_t *dst)
{
    for (size_t x = 0; x < width; x++)
        dst[x] = (uint8_t)((src[2 * x] * (128 - (weights[x] & 127)) + src[2 * x + 1] * (weights[x] & 127) + 64) >> 7);
}

/* What lies above and to the left of each pixel. */
void integral_sum(const uint8_t *src, size_t stride, size_t width, size_t height, uint32_t *sum, size_t sum_stride)
{
    for (size_t x = 0; x < width; x++)
        sum[x] = 0;
    for (size_t y = 0; y < height; y++) {
        uint32_t row = 0;
        for (size_t x = 0; x < width; x++) {
            row += src[y * stride + x];
            sum[(y + 1) * sum_stride + x] = sum[y * sum_stride + x] + row;
        }
    }
}

void split_bgra(const uint8_t *bgra, size_t stride, size_t width, size_t height, uint8_t *b, uint8_t *g, uint8_t *r, uint8_t *a, size_t plane_stride)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            b[y * plane_stride + x] = bgra[y * stride + 4 * x];
            g[y * plane_stride + x] = bgra[y * stride + 4 * x + 1];
            r[y * plane_stride + x] = bgra[y * stride + 4 * x + 2];
            a[y * plane_stride + x] = bgra[y * stride + 4 * x + 3];
        }
}

void merge_uv(const uint8_t *u, const uint8_t *v, size_t plane_stride, size_t width, size_t height, uint8_t *uv, size_t stride)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            uv[y * stride + 2 * x] = u[y * plane_stride + x];
            uv[y * stride + 2 * x + 1] = v[y * plane_stride + x];
        }
}

void merge_bgr(const uint8_t *b, const uint8_t *g, const uint8_t *r, int plane_stride, int width, int height, uint8_t *bgr, int stride)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bgr[y * stride + 3 * x] = b[y * plane_stride + x];
            bgr[y * stride + 3 * x + 1] = g[y * plane_stride + x];
            bgr[y * stride + 3 * x + 2] = r[y * plane_stride + x];
        }
}

void bgra_to_bgr(const uint8_t *bgra, size_t width, size_t height, size_t stride, uint8_t *bgr, size_t bgr_stride)
{
    for (size_t y = 0; y < height; y++) {
        const uint8_t *s = bgra + y * stride;
        uint8_t *d = bgr + y * bgr_stride;
        for (size_t x = 0; x < width; x++, s += 4, d += 3) {
            d[0] = s[0];
            d[1] = s[1];
            d[2] = s[2];
        }
    }
}

void gray_to_bgr(const uint8_t *gray, size_t width, size_t height, size_t stride, uint8_t *bgr, size_t bgr_stride)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            uint8_t v = gray[y * stride + x];
            bgr[y * bgr_stride + 3 * x] = v;
            bgr[y * bgr_stride + 3 * x + 1] = v;
            bgr[y * bgr_stride + 3 * x + 2] = v;
        }
}

/* Colours of a table of 256 entries, four bytes each. */
void palette_to_bgra(const uint8_t *src, size_t width, size_t height, size_t stride, const uint32_t *palette, uint32_t *bgra, size_t bgra_stride)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            bgra[y * bgra_stride + x] = palette[src[y * stride + x]];
}

/* Squared distance of the absolute deviation from a row's mean, as levels. */
void stretch_contrast(const uint8_t *src, size_t stride, size_t width, size_t height, uint8_t low, uint16_t scale, uint8_t *dst)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            int v = src[y * stride + x] > low ? src[y * stride + x] - low : 0;
            int scaled = v * scale >> 8;
            dst[y * stride + x] = (uint8_t)(scaled > 255 ? 255 : scaled);
        }
}

void rgb_to_chroma(const uint8_t *rgb, size_t rgb_stride, size_t width, size_t height, uint8_t *cb, uint8_t *cr, size_t stride)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            int r = rgb[y * rgb_stride + 3 * x], g = rgb[y * rgb_stride + 3 * x + 1], b = rgb[y * rgb_stride + 3 * x + 2];
            cb[y * stride + x] = (uint8_t)(((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128);
            cr[y * stride + x] = (uint8_t)(((112 * r - 94 * g - 18 * b + 128) >> 8) + 128);
        }
}
