/* Loops around a ring: remainders, choices, rows in one array, steps of two, columns. */
#include <stddef.h>

void advance(int steps, int n, double c, double a[restrict n], double b[restrict n])
{
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++)
            b[i] = a[i] - c * (a[i] - a[(i + n - 1) % n]);
        for (int i = 0; i < n; i++)
            a[i] = b[i] + c * (b[(i + 2) % n] - b[i]);
    }
}

void torus(size_t h, size_t w, const float *restrict a, float *restrict b)
{
    for (size_t i = 0; i < h; i++) {
        size_t u = i > 0 ? i - 1 : h - 1, d = i + 1 < h ? i + 1 : 0;
        for (size_t j = 0; j < w; j++) {
            size_t l = (j + w - 1) % w, r = (j + 1) % w;
            b[i * w + j] = 0.2f * (a[i * w + j] + a[u * w + j] + a[d * w + j] + a[i * w + l] + a[i * w + r]);
        }
    }
}

void life(int n, unsigned char a[restrict n][n], unsigned char b[restrict n][n])
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            int s = 0;
            for (int p = -1; p <= 1; p++)
                for (int q = -1; q <= 1; q++)
                    s += a[(i + p + n) % n][(j + q + n) % n] & 1;
            s -= a[i][j] & 1;
            b[i][j] = s == 3 || (s == 2 && (a[i][j] & 1));
        }
}

void rotated(int n, int k, short *restrict a, const short *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = (short)(b[(i + 3) % n] * k + b[i]);
}
