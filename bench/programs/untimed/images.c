#include <stdint.h>
void integral_u8(int w, int h, const uint8_t *img, uint32_t *sum)
{
    for (int y = 0; y < h; y++) {
        uint32_t row = 0;
        for (int x = 0; x < w; x++) {
            row += img[y * w + x];
            sum[y * w + x] = row + (y > 0 ? sum[(y - 1) * w + x] : 0);
        }
    }
}
void gradient_s16(int w, int h, const uint8_t *img, int16_t *gx, int16_t *gy)
{
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            gx[y * w + x] = img[y * w + x + 1] - img[y * w + x - 1];
            gy[y * w + x] = img[(y + 1) * w + x] - img[(y - 1) * w + x];
        }
}
void gradient_f32(int w, int h, const float *img, float *gx, float *gy)
{
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            gx[y * w + x] = 0.5f * (img[y * w + x + 1] - img[y * w + x - 1]);
            gy[y * w + x] = 0.5f * (img[(y + 1) * w + x] - img[(y - 1) * w + x]);
        }
}
void split_rgb(int n, const uint8_t *rgb, uint8_t *r, uint8_t *g, uint8_t *b)
{
    for (int i = 0; i < n; i++) {
        r[i] = rgb[3 * i];
        g[i] = rgb[3 * i + 1];
        b[i] = rgb[3 * i + 2];
    }
}
void merge_rgb(int n, const uint8_t *r, const uint8_t *g, const uint8_t *b, uint8_t *rgb)
{
    for (int i = 0; i < n; i++) {
        rgb[3 * i] = r[i];
        rgb[3 * i + 1] = g[i];
        rgb[3 * i + 2] = b[i];
    }
}
void drop_alpha(int n, const uint8_t *rgba, uint8_t *rgb)
{
    for (int i = 0; i < n; i++) {
        rgb[3 * i + 0] = rgba[4 * i + 0];
        rgb[3 * i + 1] = rgba[4 * i + 1];
        rgb[3 * i + 2] = rgba[4 * i + 2];
    }
}
void swap_red_blue(int n, uint8_t *px)
{
    for (int i = 0; i < n; i++) {
        uint8_t t = px[4 * i];
        px[4 * i] = px[4 * i + 2];
        px[4 * i + 2] = t;
    }
}
void luma_rgb(int n, const uint8_t *rgb, uint8_t *y)
{
    for (int i = 0; i < n; i++)
        y[i] = (uint8_t)((77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2] + 128) >> 8);
}
void invert_u8(int n, uint8_t *p)
{
    for (int i = 0; i < n; i++)
        p[i] = 255 - p[i];
}
void threshold_u8(int n, const uint8_t *a, uint8_t *b, int alpha)
{
    for (int i = 0; i < n; i++)
        b[i] = a[i] > alpha ? 255 : 0;
}
void blend_u8(int n, const uint8_t *a, const uint8_t *b, uint8_t *o, int alpha)
{
    for (int i = 0; i < n; i++)
        o[i] = (uint8_t)((a[i] * alpha + b[i] * (256 - alpha)) >> 8);
}
void box3_rows(int w, int h, const uint8_t *a, uint8_t *o)
{
    for (int y = 0; y < h; y++)
        for (int x = 1; x < w - 1; x++)
            o[y * w + x] = (a[y * w + x - 1] + a[y * w + x] + a[y * w + x + 1]) / 3;
}
void half_size(int w, int h, const uint8_t *a, uint8_t *o)
{
    for (int y = 0; y < h / 2; y++)
        for (int x = 0; x < w / 2; x++)
            o[y * (w / 2) + x] = (uint8_t)((a[2 * y * w + 2 * x] + a[2 * y * w + 2 * x + 1] + a[(2 * y + 1) * w + 2 * x]
                + a[(2 * y + 1) * w + 2 * x + 1] + 2) >> 2);
}
void flip_rows(int w, int h, const uint8_t *a, uint8_t *o)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            o[y * w + x] = a[y * w + (w - 1 - x)];
}
void normalise_u8(int n, const uint8_t *a, float *o)
{
    for (int i = 0; i < n; i++)
        o[i] = (a[i] - 127.5f) / 127.5f;
}
void erode3(int w, int h, const uint8_t *a, uint8_t *o)
{
    for (int y = 1; y < h - 1; y++)
        for (int x = 0; x < w; x++) {
            uint8_t m = a[(y - 1) * w + x];
            if (a[y * w + x] < m) m = a[y * w + x];
            if (a[(y + 1) * w + x] < m) m = a[(y + 1) * w + x];
            o[y * w + x] = m;
        }
}
void laplace_s32(int w, int h, const int32_t *a, int32_t *o)
{
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++)
            o[y * w + x] = 4 * a[y * w + x] - a[y * w + x - 1] - a[y * w + x + 1] - a[(y - 1) * w + x] - a[(y + 1) * w + x];
}
