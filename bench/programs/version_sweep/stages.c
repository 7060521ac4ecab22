/* Loops that double, or halve, what they step over: subsets, averages, maxima, rows, columns, many types. */
#include <stddef.h>
#include <stdint.h>

void subsets(uint32_t *a, int n)
{
    for (int h = 1; h < n; h <<= 1)
        for (int i = 0; i < n; i += h << 1)
            for (int j = 0; j < h; j++)
                a[i + j + h] += a[i + j];
}

void halved(float *restrict a, long n)
{
    for (long h = n / 2; h > 0; h /= 2)
        for (long i = 0; i < n; i += 2 * h)
            for (long j = 0; j < h; j++) {
                float x = a[i + j], y = a[i + j + h];
                a[i + j] = 0.5f * (x + y);
                a[i + j + h] = 0.5f * (x - y);
            }
}

void counted(int64_t *a, int m)
{
    for (int s = 0; s < m; s++) {
        int h = 1 << s;
        for (int i = 0; i < 1 << m; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                int64_t x = a[j], y = a[j + h];
                a[j] = x < y ? x : y;
                a[j + h] = x < y ? y : x;
            }
    }
}

void columns(int n, int m, double a[restrict n][m])
{
    for (int h = 1; h < n; h *= 2)
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++)
                for (int c = 0; c < m; c++) {
                    double x = a[j][c], y = a[j + h][c];
                    a[j][c] = x + y;
                    a[j + h][c] = x - y;
                }
}

void rows(int r, size_t n, unsigned char *a)
{
    for (int k = 0; k < r; k++)
        for (size_t h = 1; h < n; h *= 2)
            for (size_t i = 0; i < n; i += 2 * h)
                for (size_t j = 0; j < h; j++) {
                    unsigned char x = a[k * n + i + j], y = a[k * n + i + j + h];
                    a[k * n + i + j] = x ^ y;
                    a[k * n + i + j + h] = x & y;
                }
}

void complex_pairs(float *restrict re, float *restrict im, unsigned n)
{
    for (unsigned h = 1; h < n; h += h)
        for (unsigned i = 0; i < n; i += 2 * h)
            for (unsigned j = i; j < i + h; j++) {
                float a = re[j], b = im[j], c = re[j + h], d = im[j + h];
                re[j] = a + d;
                im[j] = b - c;
                re[j + h] = a - d;
                im[j + h] = b + c;
            }
}

/* The stages of transforms with tables of factors: in pairs, apart, the longest first, and whole numbers. */
void radix2(float *x, const float *w, int n)
{
    for (int len = 2; len <= n; len <<= 1) {
        int half = len >> 1, step = n / len;
        for (int i = 0; i < n; i += len) {
            float *a = x + 2 * i, *b = a + 2 * half;
            const float *pw = w;
            for (int k = 0; k < half; k++, a += 2, b += 2, pw += 2 * step) {
                float br = b[0] * pw[0] - b[1] * pw[1], bi = b[0] * pw[1] + b[1] * pw[0];
                b[0] = a[0] - br;
                b[1] = a[1] - bi;
                a[0] += br;
                a[1] += bi;
            }
        }
    }
}

void falling(double *restrict re, double *restrict im, const double *wr, const double *wi, int n)
{
    int span, step;
    for (span = n >> 1, step = 1; span > 0; span >>= 1, step <<= 1)
        for (int j = 0; j < span; j++) {
            double c = wr[j * step], s = wi[j * step];
            for (int i = j; i < n; i += 2 * span) {
                double a = re[i] - re[i + span], b = im[i] - im[i + span];
                re[i] += re[i + span];
                im[i] += im[i + span];
                re[i + span] = a * c - b * s;
                im[i + span] = a * s + b * c;
            }
        }
}

void modular(uint32_t *a, const uint32_t *w, unsigned n)
{
    for (unsigned h = 1; h < n; h *= 2) {
        unsigned step = n / (2 * h);
        for (unsigned i = 0; i < n; i += 2 * h)
            for (unsigned k = 0; k < h; k++) {
                uint32_t t = a[i + k + h] * w[k * step];
                a[i + k + h] = a[i + k] - t;
                a[i + k] += t;
            }
    }
}

/* Numbers backwards: pairs, and two arrays. */
void backwards(float *x, int n)
{
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            float t = x[2 * i], u = x[2 * i + 1];
            x[2 * i] = x[2 * j];
            x[2 * i + 1] = x[2 * j + 1];
            x[2 * j] = t;
            x[2 * j + 1] = u;
        }
    }
}

void backwards_both(double *restrict re, double *restrict im, unsigned n)
{
    for (unsigned i = 1, j = 0; i < n; i++) {
        unsigned bit = n / 2;
        while (j & bit) {
            j &= ~bit;
            bit /= 2;
        }
        j |= bit;
        if (i < j) {
            double t = re[i];
            re[i] = re[j];
            re[j] = t;
            t = im[i];
            im[i] = im[j];
            im[j] = t;
        }
    }
}
