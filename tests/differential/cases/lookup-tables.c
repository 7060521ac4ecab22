// taken: nibbles guarded two interpolate bytes triangle
// tolerance: 1e-5
/* What is read may be chosen by data, where these say how far it is; what is stored may not. */
#include <stdint.h>
static const uint8_t half[16] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 1, 2, 3, 4};
static const short grid[4][8] = {{1, -2, 3}, {4, 5, -6, 7}, {0, 9}, {-1, -1, -1, 30000}};
static const float wave[5] = {0.f, .25f, .5f, .75f, 1.f};
void nibbles(int n, const uint8_t *in, unsigned short *restrict out)
{
    static const unsigned short wide[2][16] = {{1, 2, 3}, {4, 500, 6}};
    for (int i = 0; i < n; i++)
        out[i] = wide[1][in[i] & 15] + wide[0][in[i] >> 4];
}
/* Where the condition does not hold, nothing is read. */
void guarded(int n, const uint8_t *in, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = in[i] < 16 ? half[in[i]] : in[i];
}
void two(int n, int m, const uint8_t *a, const uint8_t *b, short *restrict out)
{
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++)
            out[j * n + i] = grid[a[i] & 3][b[j * n + i] % 8u];
}
void interpolate(int n, const float *x, float *restrict out)
{
    for (int i = 0; i < n; i++) {
        float p = x[i] < 0.f ? 0.f : x[i] > 3.99f ? 3.99f : x[i];
        int k = (int)p;
        k = k < 0 ? 0 : k > 3 ? 3 : k;
        out[i] = wave[k] + (p - k) * (wave[k + 1] - wave[k]);
    }
}
void bytes(int n, const unsigned char *t, unsigned *x)
{
    for (int i = 0; i < n; i++) {
        unsigned v = x[i];
        x[i] = t[v & 255] | t[v >> 8 & 255] << 8 | (unsigned)t[v >> 24] << 24;
    }
}
void triangle(int n, const float *restrict ap, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int j = 0; j <= i; j++)
            s += ap[i * (i + 1) / 2 + j] * x[j];
        y[i] = s;
    }
}
/* These stay: what is stored would be read, and any integer may be meant. */
void own(int n, const uint8_t *in, uint8_t *out)
{
    for (int i = 0; i < n; i++)
        out[i] = out[in[i]] + 1;
}
void permute(int n, const int *order, const float *x, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = x[order[i]];
}

#ifdef MAIN
#include <stdio.h>
static uint8_t in[999], other[5 * 999], out[999];
static unsigned short wide[999];
static short shorts[5 * 999];
static float x[999], y[999], ap[500];
static union { unsigned w[333]; unsigned char t[1332]; } u;
static int order[999];
int main(void)
{
    unsigned h = 0;
    double s = 0;
    for (int i = 0; i < 999; i++) in[i] = (uint8_t)(i * 37 + i / 7), x[i] = (i % 97) * 0.07f - 1, order[i] = (i * 10) % 999;
    for (int i = 0; i < 5 * 999; i++) other[i] = (uint8_t)(i * 91);
    for (int i = 0; i < 500; i++) ap[i] = i % 13;
    nibbles(999, in, wide);
    guarded(999, in, out);
    for (int i = 0; i < 999; i++) h = h * 31 + wide[i] + out[i];
    two(999, 5, in, other, shorts);
    for (int i = 0; i < 5 * 999; i++) h = h * 31 + (unsigned)shorts[i];
    interpolate(999, x, y);
    for (int i = 0; i < 999; i++) s += y[i] * (i % 7);
    permute(999, order, x, y);
    triangle(30, ap, x, y);
    for (int i = 0; i < 999; i++) s += y[i] * (i % 5);
    /* A table that is written as the words are: the original's order counts. */
    for (int i = 0; i < 333; i++) u.w[i] = 2654435761u * (unsigned)i;
    bytes(300, u.t, u.w + 20); bytes(200, other, u.w);
    for (int i = 0; i < 333; i++) h = h * 31 + u.w[i];
    own(999, in, out);
    for (int i = 0; i < 999; i++) h = h * 31 + out[i];
    printf("%u %.5g\n", h, s);
    return 0;
}
#endif
