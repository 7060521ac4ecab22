// taken: edges smooth pick
/* Subscripts that a function of the file clamps. */
#include <stdio.h>
#include <stdlib.h>
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
    printf("%ld %g %g %g %d %d %d\n", all, b[0], b[47], b[49], sums[0], sums[9], sums[22]);
}
#endif
