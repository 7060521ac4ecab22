// slow
// taken: product inner interleaved turned blurred
// tolerance: 1e-6
// sanitize
/* Matrices as arrays of pointers to their rows: evenly spaced or not, from row 1 on, one row alone, with the table of
   addresses beside what is stored. */
struct picture { int w, h; unsigned char **rows; };

void product(int n, int m, int k, double **a, double **b, double **c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double s = 0;
            for (int l = 0; l < k; l++)
                s += a[i][l] * b[l][j];
            c[i][j] = s;
        }
}

float inner(int n, int m, float *const *x, const float *const *y)   /* rows and columns from 1 on */
{
    float s = 0;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++)
            s += x[i][j] * y[i][j];
    return s;
}

void interleaved(int n, int channels, const float *src, short **dest)
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < channels; c++)
            dest[c][i] = (short)src[i * channels + c];
}

void turned(struct picture *p)
{
    for (int y = 0; y < p->h; y++) {
        unsigned char *row = p->rows[y];
        for (int x = 0; x < p->w; x++)
            row[x] = (unsigned char)(row[x] * 3 + y);
    }
}

void blurred(int h, int w, int **in, int **out)
{
    for (int y = 1; y < h - 1; y++)
        for (int x = 0; x < w; x++)
            out[y][x] = in[y - 1][x] + 2 * in[y][x] + in[y + 1][x];
}

#ifdef MAIN
#include <stdio.h>
#include <stdlib.h>
static void **made[64];
static int number;
static void **table(char *memory, int n, long step, int kind)
{
    void **t = made[number++] = malloc((n + 1) * sizeof *t);
    for (int i = 0; i < n; i++) {
        int at = kind == 1 ? n - 1 - i : kind == 2 ? i * 7 % n : i;
        t[i] = memory + at * step + (kind == 3 && i == n / 2 ? 8 : 0);
    }
    return t;
}
int main(void)
{
    static double d[3][70 * 70]; static float f[2][70 * 70]; static short sh[8 * 300]; static float src[2000]; static int in[70 * 70], out[70 * 70];
    static unsigned char bytes[8192] __attribute__((aligned(16))); double s = 0; unsigned long h = 0;
    for (int kind = 0; kind < 4; kind++) {
        for (int k = 0; k < 3; k++) for (int i = 0; i < 4900; i++) d[k][i] = (i * (k + 3) + kind) % 17 - 8;
        for (int i = 0; i < 4900; i++) { f[0][i] = i % 7; f[1][i] = i % 5; in[i] = i * 13 % 101; out[i] = 0; }
        for (int i = 0; i < 2000; i++) src[i] = i % 119;
        for (int i = 0; i < 8192; i++) bytes[i] = (unsigned char)(i * 3);
        double **a = (double **)table((char *)d[0], 70, 560, kind), **b = (double **)table((char *)d[1], 70, 560, 0), **c = (double **)table((char *)d[2], 70, 560, 0);
        product(61, 53, 47, a, b, c); product(1, 3, 2, a, b, c); product(5, 4, 0, a, b, c); product(0, 0, 0, 0, 0, 0);
        product(30, 30, 30, c, b, c); product(20, 20, 20, a, b, (double **)table((char *)d[2] + 8, 70, 160, 0));
        float **x = (float **)table((char *)f[0], 70, 280, kind), **y = (float **)table((char *)f[1], 70, 280, 0);
        s += inner(60, 60, x, (const float *const *)y) + inner(1, 20, x, (const float *const *)y) + inner(3, 0, x, (const float *const *)y);
        short **w = (short **)table((char *)sh, 8, 600, kind); interleaved(240, 8, src, w); interleaved(3, 1, src, w);
        int **p = (int **)table((char *)in, 70, 280, kind), **q = (int **)table((char *)out, 70, 280, 0);
        blurred(70, 70, p, q); blurred(50, 60, q, q); blurred(2, 5, 0, 0);
        struct picture pic = { 90, 40, (unsigned char **)table((char *)bytes, 40, 100, kind) }; turned(&pic);
        /* The table lies in what is stored, behind all that is read before. */
        unsigned char **inside = (unsigned char **)(bytes + 2048); for (int i = 0; i < 20; i++) inside[i] = bytes + 100 * i;
        struct picture own = { 90, 20, inside }; turned(&own);
        unsigned char **over = (unsigned char **)(bytes + 6000); for (int i = 0; i < 2; i++) over[i] = bytes + 5600 + 400 * i - 9;
        struct picture self = { 10, 2, over }; turned(&self);
        for (int i = 0; i < 4900; i++) { s += (d[0][i] + d[2][i]) * (i % 3) + out[i] % 7; }
        for (int i = 0; i < 2400; i++) h = h * 31 + (unsigned short)sh[i];
        for (int i = 0; i < 2000; i++) h = h * 31 + bytes[i];
    }
    while (number > 0)
        free(made[--number]);
    printf("%lu %.9g\n", h, s);
    return 0;
}
#endif
