// taken: edges smooth pick middle dark around ranked
/* Subscripts that a function of the file clamps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int clip(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }
static inline long at_most(long v, long end)
{
    if (v > end)
        return end;
    return v;
}
#define W 37

void edges(int h, int w, const unsigned char *in, short *out)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int u = clip(y - 1, 0, h - 1), d = clip(y + 1, 0, h - 1);
            out[y * w + x] = (short)(in[d * w + x] - 2 * in[y * w + x] + in[u * w + x]);
        }
}

void smooth(long n, const double *a, double *b)
{
    for (long i = 0; i < n; i++)
        b[i] = a[i] + a[at_most(i + 2, n - 1)];
}

void pick(int n, int by, int in[][W], int *out)
{
    for (int i = 0; i < n; i++) {
        const int k = clip(i - by, 2, W - 3);
        out[i] += in[i][k];
    }
}

static void order(int *a, int *b)
{
    int less = *a < *b ? *a : *b, more = *a < *b ? *b : *a;
    *a = less;
    *b = more;
}
static void load(const unsigned char *rows[3], size_t at[3], int v[5])
{
    v[0] = rows[0][at[1]];
    v[1] = rows[1][at[0]];
    v[2] = rows[1][at[1]];
    v[3] = rows[1][at[2]];
    v[4] = rows[2][at[1]];
}
void middle(const unsigned char *in, size_t stride, size_t w, size_t h, size_t channels, unsigned char *out)
{
    int v[5];
    const unsigned char *rows[3];
    size_t at[3], size = w * channels;
    for (size_t y = 0; y < h; y++, out += stride) {
        rows[0] = in + stride * (y - 1);
        rows[1] = rows[0] + stride;
        rows[2] = rows[1] + stride;
        if (y == 0)
            rows[0] = rows[1];
        if (y == h - 1)
            rows[2] = rows[1];
        for (size_t x = 0; x < 2 * channels; x++) {
            at[0] = x < channels ? x : size - 2 * channels + (x - channels);
            at[1] = x < channels ? x : size - channels + (x - channels);
            at[2] = x < channels ? x + channels : size - channels + (x - channels);
            load(rows, at, v);
            order(v, v + 4), order(v + 1, v + 3), order(&v[0], &v[1]), order(&v[3], &v[4]);
            out[at[1]] = v[2];
        }
        for (size_t x = channels; x < size - channels; x++) {
            at[0] = x - channels, at[1] = x, at[2] = x + channels;
            load(rows, at, v);
            order(v, v + 4), order(v + 1, v + 3), order(&v[0], &v[1]), order(&v[3], &v[4]);
            out[x] = v[1] + v[3];
        }
    }
}
void dark(const unsigned char *in, size_t stride, size_t w, size_t h, unsigned char *out)
{
    memset(out, 0, w);
    in += stride, out += stride;
    for (size_t y = 2; y < h; y++, in += stride, out += stride)
        for (size_t x = 0; x < w; x++)
            out[x] = in[x - stride] > in[x + stride] ? in[x] : 0;
    memset(out, 0, w);
}
void around(const unsigned char *in, size_t stride, size_t w, size_t h, long *sum)
{
    *sum = 0;
    for (size_t y = 0; y < h; y++) {
        const unsigned char *b = in + stride * y, *a = y ? b - stride : b, *c = y == h - 1 ? b : b + stride;
        int row = 0;
        for (size_t x = 0; x < w; x++)
            row += abs(a[x] - 2 * b[x] + c[x]);
        *sum += row;
    }
}
static void put_in_order(int *a, int *b)
{
    int more = *a - *b;
    more = more & ~(more >> 31);
    *a -= more;
    *b += more;
}
void ranked(const unsigned char *in, size_t stride, size_t w, size_t h, unsigned char *out)
{
    int v[5];
    for (size_t y = 0; y < h; y++) {
        const unsigned char *b = in + stride * y, *a = y ? b - stride : b, *c = y == h - 1 ? b : b + stride;
        for (size_t x = 1; x + 1 < w; x++) {
            v[0] = a[x], v[1] = b[x - 1], v[2] = b[x], v[3] = b[x + 1], v[4] = c[x];
            put_in_order(v, v + 1), put_in_order(v + 3, v + 4), put_in_order(v, v + 3), put_in_order(v + 1, v + 4);
            put_in_order(v + 1, v + 2), put_in_order(v + 2, v + 3), put_in_order(v + 1, v + 2);
            out[stride * y + x] = (unsigned char)v[2];
        }
    }
}

#ifdef MAIN
int main(void)
{
    enum { H = 23 };
    static unsigned char in[H * W];
    static short out[H * W];
    static int rows[H][W];
    double a[50], b[50] = {0};
    int sums[H] = {0};
    srand(7);
    for (int i = 0; i < H * W; i++) {
        in[i] = (unsigned char)rand();
        rows[i / W][i % W] = i;
    }
    long all = 0;
    for (int h = 0; h <= H; h++) {
        edges(h, W, in, out);
        for (int i = 0; i < H * W; i++)
            all = all * 31 % 1000003 + out[i];
    }
    for (int i = 0; i < 50; i++)
        a[i] = i;
    smooth(50, a, b);
    smooth(1, a, b);
    for (int by = -3; by < 60; by += 7)
        pick(H, by, rows, sums);
    static unsigned char made[H * W];
    for (int channels = 1; channels < 4; channels++)
        for (int h = 2; h <= H; h += 7)
            middle(in, W, W / channels, h, channels, made);
    for (int h = 3; h <= H; h += 5)
        dark(in, W, W - h, h, made + 1);
    long marks = 0, sum;
    for (int i = 0; i < H * W; i++)
        marks = marks * 31 % 1000003 + made[i];
    for (int h = 1; h <= H; h++) {
        around(in, W, W - 2, h, &sum);
        marks = (marks + h * sum) % 1000003;
    }
    printf("%ld\n", marks);
    for (int h = 1; h <= H; h++)
        ranked(in, W, W - h % 3, h, made);
    for (int i = 0; i < H * W; i++)
        marks = marks * 31 % 1000003 + made[i];
    printf("%ld\n", marks);
    printf("%ld %g %g %g %d %d %d\n", all, b[0], b[47], b[49], sums[0], sums[9], sums[22]);
}
#endif
