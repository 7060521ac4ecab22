/* Windows of pixels: smoothing, ranks, derivatives. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Five by five, weights 1 4 6 4 1 both ways. */
void gaussian5x5(const uint8_t *src, size_t stride, size_t width, size_t height, uint8_t *dst)
{
    for (size_t y = 2; y + 2 < height; y++)
        for (size_t x = 2; x + 2 < width; x++) {
            const uint8_t *p = src + y * stride + x;
            int sum = 0;
            const int k[5] = {1, 4, 6, 4, 1};
            for (int j = 0; j < 5; j++) {
                const uint8_t *q = p + (j - 2) * (ptrdiff_t)stride;
                sum += k[j] * (q[-2] + 4 * q[-1] + 6 * q[0] + 4 * q[1] + q[2]);
            }
            dst[y * stride + x] = (uint8_t)((sum + 128) >> 8);
        }
}

#define ORDER(a, b) { uint8_t low = a < b ? a : b; b = a < b ? b : a; a = low; }

void median3x3(const uint8_t *src, int stride, int width, int height, uint8_t *dst)
{
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            const uint8_t *p = src + y * stride + x;
            uint8_t a0 = p[-stride - 1], a1 = p[-stride], a2 = p[-stride + 1];
            uint8_t b0 = p[-1], b1 = p[0], b2 = p[1];
            uint8_t c0 = p[stride - 1], c1 = p[stride], c2 = p[stride + 1];
            ORDER(a1, a2) ORDER(b1, b2) ORDER(c1, c2)
            ORDER(a0, a1) ORDER(b0, b1) ORDER(c0, c1)
            ORDER(a1, a2) ORDER(b1, b2) ORDER(c1, c2)
            ORDER(a0, b0) ORDER(b2, c2) ORDER(b1, c1)
            ORDER(b0, c0) ORDER(a1, b1) ORDER(a2, b2)
            ORDER(b1, c1) ORDER(b1, b2) ORDER(c0, b1)
            ORDER(b1, b2)
            dst[y * stride + x] = b1;
        }
}

void dilate3x3(const uint8_t *src, size_t stride, size_t width, size_t height, uint8_t *dst)
{
    for (size_t y = 1; y + 1 < height; y++) {
        const uint8_t *a = src + (y - 1) * stride, *b = a + stride, *c = b + stride;
        for (size_t x = 1; x + 1 < width; x++) {
            uint8_t most = 0;
            for (int i = -1; i <= 1; i++) {
                most = a[x + i] > most ? a[x + i] : most;
                most = b[x + i] > most ? b[x + i] : most;
                most = c[x + i] > most ? c[x + i] : most;
            }
            dst[y * stride + x] = most;
        }
    }
}

/* A difference to the left and to the right that saturates, in steps. */
void texture_gradient(const uint8_t *src, size_t stride, size_t width, size_t height, uint8_t saturation, uint8_t boost, uint8_t *dx)
{
    for (size_t y = 1; y + 1 < height; y++)
        for (size_t x = 1; x + 1 < width; x++) {
            int d = src[y * stride + x + 1] - src[y * stride + x - 1];
            d = d < -saturation ? -saturation : d > saturation ? saturation : d;
            dx[y * stride + x] = (uint8_t)((d + saturation) * boost);
        }
}

void sharpen(const uint8_t *src, size_t stride, size_t width, size_t height, uint8_t *dst)
{
    for (size_t y = 1; y + 1 < height; y++) {
        const uint8_t *p = src + y * stride;
        for (size_t x = 1; x + 1 < width; x++) {
            int v = 5 * p[x] - p[x - 1] - p[x + 1] - p[x - stride] - p[x + stride];
            dst[y * stride + x] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
    }
}

void sobel_magnitude(const uint8_t *src, size_t stride, size_t width, size_t height, uint16_t *dst, size_t dst_stride)
{
    for (size_t y = 1; y + 1 < height; y++) {
        const uint8_t *a = src + (y - 1) * stride, *b = a + stride, *c = b + stride;
        for (size_t x = 1; x + 1 < width; x++) {
            int dx = (a[x + 1] + 2 * b[x + 1] + c[x + 1]) - (a[x - 1] + 2 * b[x - 1] + c[x - 1]);
            int dy = (c[x - 1] + 2 * c[x] + c[x + 1]) - (a[x - 1] + 2 * a[x] + a[x + 1]);
            dst[y * dst_stride + x] = (uint16_t)(abs(dx) + abs(dy));
        }
    }
}
