#include <stdint.h>
double dot_f64(int n, const double *a, const double *b)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}
void axpy_f32(int n, float a, const float *x, float *y)
{
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}
void scale_rows(int w, int h, float *a, const float *s)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            a[y * w + x] *= s[y];
}
void scale_cols(int w, int h, float *a, const float *s)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            a[y * w + x] *= s[x];
}
void outer_f64(int w, int h, double *a, const double *u, const double *v)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            a[y * w + x] += u[y] * v[x];
}
void mat_add(int w, int h, const double *a, const double *b, double *c)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            c[y * w + x] = a[y * w + x] + b[y * w + x];
}
void rotate_f64(int n, double *x, double *y, double c, double s)
{
    for (int i = 0; i < n; i++) {
        double t = c * x[i] + s * y[i];
        y[i] = c * y[i] - s * x[i];
        x[i] = t;
    }
}
void points3(int n, const float *p, float *q, const float *m)
{
    for (int i = 0; i < n; i++) {
        q[3 * i] = m[0] * p[3 * i] + m[1] * p[3 * i + 1] + m[2] * p[3 * i + 2];
        q[3 * i + 1] = m[3] * p[3 * i] + m[4] * p[3 * i + 1] + m[5] * p[3 * i + 2];
        q[3 * i + 2] = m[6] * p[3 * i] + m[7] * p[3 * i + 1] + m[8] * p[3 * i + 2];
    }
}
void lengths3(int n, const float *p, float *len)
{
    for (int i = 0; i < n; i++)
        len[i] = p[3 * i] * p[3 * i] + p[3 * i + 1] * p[3 * i + 1] + p[3 * i + 2] * p[3 * i + 2];
}
