/* Channels that lie side by side. */
#include <stdint.h>

void even_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[2 * i];
}

void deinterleave2_u8(int n, const uint8_t *restrict a, uint8_t *restrict p, uint8_t *restrict q)
{
    for (int i = 0; i < n; i++) {
        p[i] = a[2 * i];
        q[i] = a[2 * i + 1];
    }
}

void deinterleave3_u8(int n, const uint8_t *restrict a, uint8_t *restrict p, uint8_t *restrict q, uint8_t *restrict r)
{
    for (int i = 0; i < n; i++) {
        p[i] = a[3 * i];
        q[i] = a[3 * i + 1];
        r[i] = a[3 * i + 2];
    }
}

void deinterleave4_u8(int n, const uint8_t *restrict a, uint8_t *restrict p, uint8_t *restrict q, uint8_t *restrict r,
                      uint8_t *restrict s)
{
    for (int i = 0; i < n; i++) {
        p[i] = a[4 * i];
        q[i] = a[4 * i + 1];
        r[i] = a[4 * i + 2];
        s[i] = a[4 * i + 3];
    }
}

void interleave2_u8(int n, const uint8_t *restrict p, const uint8_t *restrict q, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        out[2 * i] = p[i];
        out[2 * i + 1] = q[i];
    }
}

void interleave3_u8(int n, const uint8_t *restrict p, const uint8_t *restrict q, const uint8_t *restrict r,
                    uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        out[3 * i] = p[i];
        out[3 * i + 1] = q[i];
        out[3 * i + 2] = r[i];
    }
}

void interleave4_u8(int n, const uint8_t *restrict p, const uint8_t *restrict q, const uint8_t *restrict r,
                    const uint8_t *restrict s, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        out[4 * i] = p[i];
        out[4 * i + 1] = q[i];
        out[4 * i + 2] = r[i];
        out[4 * i + 3] = s[i];
    }
}

void halve_row_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[2 * i] + a[2 * i + 1] + 1) >> 1;
}

void halve_box_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[2 * i] + a[2 * i + 1] + b[2 * i] + b[2 * i + 1] + 2) >> 2;
}

void rgb_to_gray_u8(int n, const uint8_t *restrict rgb, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2] + 128) >> 8;
}

void rgba_to_gray_u8(int n, const uint8_t *restrict rgba, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (77 * rgba[4 * i] + 150 * rgba[4 * i + 1] + 29 * rgba[4 * i + 2] + 128) >> 8;
}

void swap_red_blue_u8(int n, const uint8_t *restrict in, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        out[4 * i] = in[4 * i + 2];
        out[4 * i + 1] = in[4 * i + 1];
        out[4 * i + 2] = in[4 * i];
        out[4 * i + 3] = in[4 * i + 3];
    }
}
