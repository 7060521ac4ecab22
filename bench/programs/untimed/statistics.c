#include <stdint.h>
double mean_f64(int n, const double *x)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i];
    return s / n;
}
int32_t max_i32(int n, const int32_t *x)
{
    int32_t m = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > m) m = x[i];
    return m;
}
int64_t sum_i16(int n, const int16_t *x)
{
    int64_t s = 0;
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}
int count_above(int n, const float *x, float t)
{
    int c = 0;
    for (int i = 0; i < n; i++)
        c += x[i] > t;
    return c;
}
void column_means(int w, int h, const float *a, float *mean)
{
    for (int x = 0; x < w; x++) {
        float s = 0;
        for (int y = 0; y < h; y++)
            s += a[y * w + x];
        mean[x] = s / h;
    }
}
void row_sums_i32(int w, int h, const int32_t *a, int32_t *s)
{
    for (int y = 0; y < h; y++) {
        s[y] = 0;
        for (int x = 0; x < w; x++)
            s[y] += a[y * w + x];
    }
}
void standardise(int n, double *x, double mean, double sd)
{
    for (int i = 0; i < n; i++)
        x[i] = (x[i] - mean) / sd;
}
void clip_f64(int n, double *x, double lo, double hi)
{
    for (int i = 0; i < n; i++) {
        if (x[i] < lo) x[i] = lo;
        if (x[i] > hi) x[i] = hi;
    }
}
void cumsum_i32(int n, const int32_t *x, int32_t *y)
{
    int32_t s = 0;
    for (int i = 0; i < n; i++) {
        s += x[i];
        y[i] = s;
    }
}
void masked_scale(int n, const uint8_t *mask, float *x, float g)
{
    for (int i = 0; i < n; i++)
        if (mask[i]) x[i] *= g;
}
void histogram_u8(int n, const uint8_t *x, uint32_t *bins)
{
    for (int i = 0; i < n; i++)
        bins[x[i]]++;
}
