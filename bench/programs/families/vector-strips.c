#include <stdint.h>
void blend(int n, const uint8_t *a, const uint8_t *b, uint8_t * restrict o)
{
    for (int i = 0; i < n; i++)
        o[i] = ((a[i] + b[i]) + 1) >> 1;
}

void threshold(int h, int w, const uint8_t *src, uint8_t * restrict dst, int t)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
        dst[(y * w) + x] = (src[(y * w) + x] > t) ? (255) : (0);
}

void sat(int n, const int16_t *a, const int16_t *b, int16_t * restrict c)
{
    for (int i = 0; i < n; i++)
    {
        int s = a[i] + b[i];
        c[i] = (s > 32767) ? (32767) : ((s < (-32768)) ? (-32768) : (s));
    }
}

void box(int w, int h, const uint8_t in[h][w], uint8_t out[h][w])
{
    for (int y = 1; y < (h - 1); y++)
        for (int x = 1; x < (w - 1); x++)
        out[y][x] = (((in[y - 1][x] + (2 * in[y][x])) + in[y + 1][x]) + 2) >> 2;
}

void q15(int n, const int16_t *x, const int16_t *h, int32_t * restrict y)
{
    for (int i = 0; i < n; i++)
    {
        int32_t s = 0;
        for (int k = 0; k < 32; k++)
            s += x[i + k] * h[31 - k];

        y[i] = s;
    }
}

void average(int w, int h, const uint8_t *p, const uint8_t *q, uint8_t * restrict r)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
    {
        int i = (y * w) + x;
        r[i] = (uint8_t) ((((p[i] * 3) + q[i]) + 2) / 4);
    }
}

void fade(int n, uint8_t *px, int k)
{
    for (int i = 0; i < n; i++)
        px[i] = (px[i] * k) >> 8;
}

void absdiff(long n, const uint8_t *a, const uint8_t *b, uint8_t * restrict d)
{
    for (long i = 0; i < n; i++)
        d[i] = (a[i] > b[i]) ? (a[i] - b[i]) : (b[i] - a[i]);
}
