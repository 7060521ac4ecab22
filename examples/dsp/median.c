#include <stdint.h>

/* Put the smaller of two values into a, the larger into b. */
#define SORT2(a, b) \
    do { \
        uint8_t lo = (a) < (b) ? (a) : (b); \
        uint8_t hi = (a) < (b) ? (b) : (a); \
        (a) = lo; \
        (b) = hi; \
    } while (0)

/*
 * 3x3 median filter of a byte image, by an exchange network.  Rows are
 * stride >= width bytes apart; the one-pixel border of dst is untouched.
 */
void median(const uint8_t *restrict src, uint8_t *restrict dst,
            int width, int height, int stride)
{
    int x, y;

    for (y = 1; y < height - 1; y++)
        for (x = 1; x < width - 1; x++) {
            const uint8_t *p = src + (y - 1) * stride + x - 1;
            uint8_t a0 = p[0], a1 = p[1], a2 = p[2];
            uint8_t b0 = p[stride], b1 = p[stride + 1], b2 = p[stride + 2];
            uint8_t c0 = p[2 * stride], c1 = p[2 * stride + 1];
            uint8_t c2 = p[2 * stride + 2];

            /* sort each row */
            SORT2(a1, a2); SORT2(a0, a1); SORT2(a1, a2);
            SORT2(b1, b2); SORT2(b0, b1); SORT2(b1, b2);
            SORT2(c1, c2); SORT2(c0, c1); SORT2(c1, c2);

            /* c0: largest minimum, b1: middle of the middles,
               a2: smallest maximum */
            SORT2(a0, b0); SORT2(b0, c0);
            SORT2(b2, c2); SORT2(a2, b2);
            SORT2(a1, b1); SORT2(b1, c1); SORT2(a1, b1);

            /* the middle one of the three */
            SORT2(a2, b1); SORT2(b1, c0); SORT2(a2, b1);
            dst[y * stride + x] = b1;
        }
}
