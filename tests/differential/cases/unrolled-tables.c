// taken: blocks scale again pick
/* Constant tables choose what small loops store to: permutations, places that meet, members, arrays of an iteration. */
#include <stdint.h>
static const uint8_t order[16] = {0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15};
static const int back[8] = {3, 1, 0, 2, 7, 6, 5, 4};
static const signed char near[6] = {1, 0, 1, -1, 2, 1};

void blocks(int n, const short *level, short *dct, const short *q)
{
    for (int b = 0; b < n; b++)
        for (int i = 0; i < 16; i++)
            dct[b * 16 + order[i]] = (short)(level[b * 16 + i] * q[i]);
}

void scale(long rows, float (*m)[8], const float *x)
{
    for (long r = 0; r < rows; r++)
        for (int k = 0; k < 8; ++k) {
            const int at = back[k];
            m[r][at] += x[at] * (float)k;
        }
}

void again(int n, int *h)
{
    for (int j = 1; j < n; j++)
        for (int i = 0; i < 6; i++)
            h[j + near[i]] = h[j - near[i] + 2] + i;
}

unsigned pick(int n, const unsigned *x)
{
    unsigned s = 0;
    for (int j = 0; j < n; j++) {
        unsigned t[8];
        for (int i = 0; i < 8; i += 1)
            t[back[i]] = x[j * 8 + i];
        for (int i = 0; i < 8; i++)
            s = s * 3 + t[i];
    }
    return s;
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static short level[320], dct[320], q[16];
    static float m[20][8], x[8];
    static int h[60];
    static unsigned v[320];
    double sum = 0;
    for (int i = 0; i < 320; i++) { level[i] = (short)(i % 23); v[i] = (unsigned)i * 77; }
    for (int i = 0; i < 16; i++) q[i] = (short)(i + 1);
    for (int i = 0; i < 8; i++) x[i] = (float)i;
    for (int i = 0; i < 60; i++) h[i] = i % 7;
    blocks(20, level, dct, q); scale(20, m, x); again(50, h);
    for (int i = 0; i < 320; i++) sum += dct[i] * (i % 11);
    for (int i = 0; i < 160; i++) sum += m[i / 8][i % 8] * (float)(i % 5);
    for (int i = 0; i < 60; i++) sum += h[i] * (i % 13);
    printf("%.9g %u\n", sum, pick(40, v));
    return 0;
}
#endif
