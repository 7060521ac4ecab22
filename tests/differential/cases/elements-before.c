// taken: lag predict above_below history moved_rows backwards halo plane last_row six_taps cross planes volume
// sanitize
/* Elements in front of what a pointer points to: histories of filters, rows above, halos, pointers that moved, and
   rows that begin where a product of sizes says. */
#include <stddef.h>
#include <stdint.h>
struct filter { int order; const float *state; float *out; };
void lag(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] - 2 * x[i - 1] + x[i - 3];
}
void predict(uint8_t *src, ptrdiff_t stride)
{
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 16; x++)
            src[y * stride + x] = src[x - stride];
}
uint64_t above_below(const uint8_t *src, size_t stride, size_t width, size_t height, const uint8_t *mask, uint8_t least)
{
    uint64_t sum = 0;
    src += stride;
    mask += stride;
    for (size_t row = 1; row + 1 < height; ++row) {
        uint32_t own = 0;
        for (size_t col = 1; col + 1 < width; ++col)
            if (mask[col] > least)
                own += src[col + 1] - src[col - 1] + 255 + src[col + stride] * src[col - stride];
        sum += own;
        src += stride;
        mask += stride;
    }
    return sum;
}
void history(struct filter *f, int n)
{
    for (int i = 0; i < n; i++)
        f->out[i] = f->state[i] + 3 * f->state[i - 2];
}
void moved_rows(const int *in, int *out, int n, int m, int pitch)
{
    in += 2 * pitch;
    in++;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            out[i * m + j] = in[(i - 1) * pitch + j] + in[i * pitch + j - 1];
}
void backwards(short *p, int n)
{
    for (int i = 1; i <= n; i++)
        p[-i] = p[-i] * 2 + 1;
}
void halo(double (*grid)[40], double (*next)[40], int rows)
{
    for (int i = 0; i < rows; i++)
        for (int j = 1; j < 39; j++)
            next[i][j] = grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1];
}
void plane(float *out, const float *in, int c, int h, int w)
{
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            out[(c * h + i) * w + j] += in[(c * h + i) * w + j] * 2;
}
long last_row(int *x, size_t row, size_t stride, int n)
{
    long s = 0;
    int *p = x + row * stride;
    for (int i = 1; i < n; i++) {
        s += p[-i];
        p[i] = x[row * stride - (size_t)n + (size_t)i] + i;
    }
    return s;
}
void six_taps(uint8_t *d, const uint8_t *s, int ds, int ss, int w, int h)
{
    for (int y = 0; y < h; y++, d += ds, s += ss)
        for (int x = 0; x < w; x++) {
            int v = (s[x - 2] - 5 * s[x - 1] + 20 * s[x] + 20 * s[x + 1] - 5 * s[x + 2] + s[x + 3] + 16) >> 5;
            d[x] = v < 0 ? 0 : v > 255 ? 255 : v;
        }
}
void cross(int16_t *d, const uint8_t *s, ptrdiff_t pitch, int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const uint8_t *p = s + y * pitch + x;
            d[y * w + x] = p[-pitch] + p[pitch] - 2 * (p[-1] + p[1]);
        }
}
void planes(uint8_t *d, const uint8_t *s, size_t plane, size_t pitch, int w, int h, int channels)
{
    for (int c = 0; c < channels; c++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                d[c * plane + y * pitch + x] = 255 - s[c * plane + y * pitch + x];
}
void volume(float *d, const float *s, int pitch, int layer, int w, int h, int n)
{
    for (int z = 0; z < n; z++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                d[(z * h + y) * w + x] = s[z * layer + y * pitch + x - 1] + s[z * layer + y * pitch + x + 1];
}

#ifdef MAIN
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    for (int n = 0; n < 300; n = 2 * n + 1) {
        unsigned long s = 0;
        float *x = malloc((n + 3) * sizeof *x), *y = malloc((n + 1) * sizeof *y);
        for (int i = 0; i < n + 3; i++) x[i] = (float)(i * 7 % 31);
        lag(x + 3, y, n);
        for (int i = 0; i < n; i++) s = s * 31 + (unsigned)(int)y[i];
        struct filter f = {2, x + 2, y};
        history(&f, n);
        for (int i = 0; i < n; i++) s = s * 31 + (unsigned)(int)y[i];
        free(x); free(y);
        int pitch = n / 3 + 5, rows = 9, m = n / 3 + 2;
        int *in = malloc((rows + 1) * pitch * sizeof *in), *out = malloc(8 * m * sizeof *out);
        for (int i = 0; i < (rows + 1) * pitch; i++) in[i] = i * i % 101;
        moved_rows(in, out, 8, m, pitch);
        for (int i = 0; i < 8 * m; i++) s = s * 31 + (unsigned)out[i];
        free(in); free(out);
        short *p = malloc((n + 1) * sizeof *p);
        for (int i = 0; i <= n; i++) p[i] = (short)(i * 3);
        backwards(p + n, n);
        for (int i = 0; i <= n; i++) s = s * 31 + (unsigned short)p[i];
        free(p);
        uint8_t *image = malloc(20 * (n + 16)), *mask = malloc(20 * (n + 16));
        for (int i = 0; i < 20 * (n + 16); i++) image[i] = (uint8_t)(i * i >> 3), mask[i] = (uint8_t)(i * 5);
        s = s * 31 + above_below(image, n + 16, n + 16, 20, mask, 77);
        predict(image + n + 16, n + 16);
        for (int i = 0; i < 17 * (n + 16); i++) s = s * 31 + image[i];
        free(image); free(mask);
        double (*grid)[40] = malloc((n + 2) * sizeof *grid), (*next)[40] = calloc(n + 1, sizeof *next);
        for (int i = 0; i < (n + 2) * 40; i++) grid[i / 40][i % 40] = i % 17;
        halo(grid + 1, next, n);
        for (int i = 0; i < n * 40; i++) s = s * 31 + (unsigned)(int)next[i / 40][i % 40];
        free(grid); free(next);
        float *a = malloc(3 * 4 * (n + 1) * sizeof *a), *b = malloc(3 * 4 * (n + 1) * sizeof *b);
        for (int i = 0; i < 12 * (n + 1); i++) a[i] = (float)(i % 13), b[i] = (float)(i % 7);
        for (int c = 0; c < 3; c += 2) plane(a, b, c, 4, n + 1);
        for (int i = 0; i < 12 * (n + 1); i++) s = s * 31 + (unsigned)(int)a[i];
        free(a); free(b);
        int *rows_of = malloc(3 * (n + 2) * sizeof *rows_of);
        for (int i = 0; i < 3 * (n + 2); i++) rows_of[i] = i * 5 % 23;
        s = s * 31 + (unsigned long)last_row(rows_of, 2, (size_t)n + 2, n);
        for (int i = 0; i < 3 * (n + 2); i++) s = s * 31 + (unsigned)rows_of[i];
        free(rows_of);
        int wide = n + 5, layer = 9 * wide + 4;
        uint8_t *from = malloc(2 * layer), *to = calloc(2, layer);
        int16_t *edges = malloc(7 * (n + 1) * sizeof *edges);
        for (int i = 0; i < 2 * layer; i++) from[i] = (uint8_t)(i * i >> 4);
        six_taps(to, from + 2, n, wide, n, 7);
        cross(edges, from + wide, wide, n, 7);
        for (int i = 0; i < 7 * n; i++) s = s * 31 + to[i] + (uint16_t)edges[i];
        planes(to, from, layer, wide, n, 9, 2);
        for (int i = 0; i < 2 * layer; i++) s = s * 31 + to[i];
        free(to); free(edges);
        float *thick = malloc(2 * layer * sizeof *thick), *thin = malloc(18 * (n + 1) * sizeof *thin);
        for (int i = 0; i < 2 * layer; i++) thick[i] = from[i];
        volume(thin, thick + 1, wide, layer, n, 9, 2);
        for (int i = 0; i < 18 * n; i++) s = s * 31 + (unsigned)(int)thin[i];
        free(from); free(thick); free(thin);
        printf("%d %lu\n", n, s);
    }
    return 0;
}
#endif
