#include <stdint.h>

/*
 * Sobel edge strength |gx| + |gy|, saturated to 255.  Rows of src and dst
 * are stride >= width bytes apart; the one-pixel border of dst is untouched.
 */
void sobel(const uint8_t *restrict src, uint8_t *restrict dst,
           int width, int height, int stride)
{
    int x, y;

    for (y = 1; y < height - 1; y++) {
        const uint8_t *p = src + (y - 1) * stride;  /* row above */
        const uint8_t *q = p + stride;
        const uint8_t *r = q + stride;              /* row below */
        uint8_t *out = dst + y * stride + 1;

        for (x = 1; x < width - 1; x++) {
            int gx = (p[2] + (q[2] << 1) + r[2]) - (p[0] + (q[0] << 1) + r[0]);
            int gy = (r[0] + (r[1] << 1) + r[2]) - (p[0] + (p[1] << 1) + p[2]);
            int mag;

            gx = gx < 0 ? -gx : gx;
            gy = gy < 0 ? -gy : gy;
            mag = gx + gy;
            *out++ = (uint8_t)(mag > 255 ? 255 : mag);
            p++;
            q++;
            r++;
        }
    }
}
