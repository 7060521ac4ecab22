/* Colour conversions of interleaved pixels. */
#include <stddef.h>
#include <stdint.h>

void bgra_to_gray(const uint8_t *bgra, size_t width, size_t height, size_t bgra_stride, uint8_t *gray, size_t gray_stride)
{
    for (size_t y = 0; y < height; y++) {
        const uint8_t *src = bgra + y * bgra_stride;
        uint8_t *dst = gray + y * gray_stride;
        for (size_t x = 0; x < width; x++)
            dst[x] = (uint8_t)((1868 * src[4 * x] + 9617 * src[4 * x + 1] + 4899 * src[4 * x + 2] + 8192) >> 14);
    }
}

void rgb_to_gray(const uint8_t *rgb, size_t rgb_stride, size_t width, size_t height, uint8_t *gray, size_t gray_stride)
{
    for (size_t y = 0; y < height; ++y) {
        for (size_t x = 0; x < width; ++x)
            gray[x] = (uint8_t)((rgb[3 * x] * 77 + rgb[3 * x + 1] * 150 + rgb[3 * x + 2] * 29 + 128) >> 8);
        rgb += rgb_stride;
        gray += gray_stride;
    }
}

void gray_to_bgra(const uint8_t *gray, int width, int height, int gray_stride, uint8_t *bgra, int bgra_stride, uint8_t alpha)
{
    for (int y = 0; y < height; y++) {
        const uint8_t *src = gray + y * gray_stride;
        uint8_t *dst = bgra + y * bgra_stride;
        for (int x = 0; x < width; x++) {
            dst[4 * x + 0] = src[x];
            dst[4 * x + 1] = src[x];
            dst[4 * x + 2] = src[x];
            dst[4 * x + 3] = alpha;
        }
    }
}

void bgr_to_rgb(const uint8_t *bgr, size_t width, size_t height, size_t bgr_stride, uint8_t *rgb, size_t rgb_stride)
{
    for (size_t y = 0; y < height; y++) {
        const uint8_t *src = bgr + y * bgr_stride;
        uint8_t *dst = rgb + y * rgb_stride;
        for (size_t x = 0; x < width; x++, src += 3, dst += 3) {
            dst[0] = src[2];
            dst[1] = src[1];
            dst[2] = src[0];
        }
    }
}

static uint8_t clamped(int v) { return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v; }

/* Planes of luma and chroma of the same size to interleaved pixels. */
void yuv444_to_bgr(const uint8_t *luma, size_t y_stride, const uint8_t *cb, size_t u_stride, const uint8_t *cr, size_t v_stride,
                   size_t width, size_t height, uint8_t *bgr, size_t bgr_stride)
{
    for (size_t row = 0; row < height; row++) {
        for (size_t x = 0; x < width; x++) {
            int y = luma[x] - 16, u = cb[x] - 128, v = cr[x] - 128;
            bgr[3 * x + 0] = clamped((9539 * y + 16525 * u + 4096) >> 13);
            bgr[3 * x + 1] = clamped((9539 * y - 3209 * u - 6660 * v + 4096) >> 13);
            bgr[3 * x + 2] = clamped((9539 * y + 13075 * v + 4096) >> 13);
        }
        luma += y_stride;
        cb += u_stride;
        cr += v_stride;
        bgr += bgr_stride;
    }
}

/* Interleaved pixels to a plane of luma. */
void bgr_to_luma(const uint8_t *bgr, size_t bgr_stride, size_t width, size_t height, uint8_t *luma, size_t luma_stride)
{
    for (size_t row = 0; row < height; row++) {
        const uint8_t *p = bgr + row * bgr_stride;
        uint8_t *q = luma + row * luma_stride;
        for (size_t x = 0; x < width; x++) {
            int b = p[3 * x], g = p[3 * x + 1], r = p[3 * x + 2];
            q[x] = clamped(((1606 * b + 8258 * g + 4211 * r + 8192) >> 14) + 16);
        }
    }
}
