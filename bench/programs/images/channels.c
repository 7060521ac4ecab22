/* Interleaved pixels and planes. */
#include <stddef.h>
#include <stdint.h>

void split_uv(const uint8_t *uv, size_t uv_stride, size_t width, size_t height, uint8_t *u, size_t u_stride, uint8_t *v, size_t v_stride)
{
    for (size_t y = 0; y < height; y++) {
        const uint8_t *src = uv + y * uv_stride;
        uint8_t *a = u + y * u_stride, *b = v + y * v_stride;
        for (size_t x = 0; x < width; x++) {
            a[x] = src[2 * x];
            b[x] = src[2 * x + 1];
        }
    }
}

void split_bgr(const uint8_t *bgr, int stride, int width, int height, uint8_t *b, uint8_t *g, uint8_t *r, int plane_stride)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            b[y * plane_stride + x] = bgr[y * stride + 3 * x + 0];
            g[y * plane_stride + x] = bgr[y * stride + 3 * x + 1];
            r[y * plane_stride + x] = bgr[y * stride + 3 * x + 2];
        }
}

void merge_bgra(const uint8_t *b, const uint8_t *g, const uint8_t *r, const uint8_t *a, int plane_stride,
                int width, int height, uint8_t *bgra, int stride)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bgra[y * stride + 4 * x + 0] = b[y * plane_stride + x];
            bgra[y * stride + 4 * x + 1] = g[y * plane_stride + x];
            bgra[y * stride + 4 * x + 2] = r[y * plane_stride + x];
            bgra[y * stride + 4 * x + 3] = a[y * plane_stride + x];
        }
}
