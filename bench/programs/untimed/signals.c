#include <stdint.h>
void window_f32(int n, float *x, const float *win)
{
    for (int i = 0; i < n; i++)
        x[i] *= win[i];
}
void mix_s16(int n, const int16_t *a, const int16_t *b, int16_t *o)
{
    for (int i = 0; i < n; i++) {
        int s = a[i] + b[i];
        if (s > 32767) s = 32767;
        if (s < -32768) s = -32768;
        o[i] = (int16_t)s;
    }
}
void s16_to_f32(int n, const int16_t *a, float *o)
{
    for (int i = 0; i < n; i++)
        o[i] = a[i] * (1.0f / 32768.0f);
}
void deinterleave_f32(int n, const float *s, float *l, float *r)
{
    for (int i = 0; i < n; i++) {
        l[i] = s[2 * i];
        r[i] = s[2 * i + 1];
    }
}
void complex_mul(int n, const float *a, const float *b, float *c)
{
    for (int i = 0; i < n; i++) {
        float re = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
        float im = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
        c[2 * i] = re;
        c[2 * i + 1] = im;
    }
}
void one_pole(int n, const float *x, float *y, float k)
{
    float s = 0;
    for (int i = 0; i < n; i++) {
        s += k * (x[i] - s);
        y[i] = s;
    }
}
void diff_f64(int n, const double *x, double *d)
{
    for (int i = 0; i < n - 1; i++)
        d[i] = x[i + 1] - x[i];
}
void decimate2(int n, const float *x, float *y)
{
    for (int i = 0; i < n / 2 - 2; i++)
        y[i] = 0.25f * x[2 * i] + 0.5f * x[2 * i + 1] + 0.25f * x[2 * i + 2];
}
void upsample2(int n, const float *x, float *y)
{
    for (int i = 0; i < n / 2 - 1; i++) {
        y[2 * i] = x[i];
        y[2 * i + 1] = 0.5f * (x[i] + x[i + 1]);
    }
}
void fir5(int n, const float *x, float *y)
{
    for (int i = 2; i < n - 2; i++)
        y[i] = 0.1f * x[i - 2] + 0.2f * x[i - 1] + 0.4f * x[i] + 0.2f * x[i + 1] + 0.1f * x[i + 2];
}
void unpack24(int n, const uint8_t *p, int32_t *o)
{
    for (int i = 0; i < n; i++)
        o[i] = (int32_t)((uint32_t)p[3 * i] << 8 | (uint32_t)p[3 * i + 1] << 16 | (uint32_t)p[3 * i + 2] << 24) >> 8;
}
void pack24(int n, const int32_t *a, uint8_t *p)
{
    for (int i = 0; i < n; i++) {
        p[3 * i] = (uint8_t)a[i];
        p[3 * i + 1] = (uint8_t)(a[i] >> 8);
        p[3 * i + 2] = (uint8_t)(a[i] >> 16);
    }
}
void envelope(int n, const float *x, float *e, float decay)
{
    float s = 0;
    for (int i = 0; i < n; i++) {
        float v = x[i] < 0 ? -x[i] : x[i];
        s = v > s ? v : s * decay;
        e[i] = s;
    }
}
