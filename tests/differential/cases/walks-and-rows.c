// taken: dot turned permuted xored
// sanitize
/* One of each: a pointer that walks to another one, rows through pointers, a subscript that may be anything,
   words in bytes. */
long dot(const short *p, const short *end, const short *q)
{
    long s = 0;
    for (; p != end; ++p, ++q)
        s += *p * *q;
    return s;
}

void turned(int h, int w, unsigned char **rows)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            rows[y][x] = (unsigned char)(rows[y][x] * 3 + y);
}

void permuted(int n, const int *order, const double *in, float *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (float)in[order[i] - 1];
}

void xored(int n, unsigned char *d, const unsigned char *k)
{
    for (int i = 0; i < n; i++)
        *(unsigned *)(d + 4 * i) ^= *(const unsigned *)(k + 4 * i + 4);
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static short a[999], b[999]; static unsigned char m[8192] __attribute__((aligned(16))), *rows[40]; static int order[400]; static double in[100]; static float out[400];
    unsigned long h = 0; double s = 0;
    for (int i = 0; i < 999; i++) { a[i] = (short)(i * 71); b[i] = (short)(i * 13 - 5000); }
    for (int i = 0; i < 8192; i++) m[i] = (unsigned char)(i * 7);
    for (int i = 0; i < 400; i++) order[i] = i * 13 % 99 + 1;
    for (int i = 0; i < 100; i++) in[i] = i % 11;
    h = (unsigned long)(dot(a, a + 999, b) + dot(a, a, b) + dot(a + 3, a + 40, a));
    for (int k = 0; k < 4; k++) {       /* evenly spaced, the last one first, shuffled, overlapping */
        for (int i = 0; i < 40; i++) rows[i] = m + (k == 1 ? 39 - i : k == 2 ? i * 7 % 40 : i) * (k == 3 ? 50 : 100);
        turned(40, 90, rows); turned(1, 20, rows); turned(3, 0, rows); turned(0, 0, 0);
    }
    unsigned char **inside = (unsigned char **)(m + 2048);      /* the addresses lie in what is stored */
    for (int i = 0; i < 20; i++) inside[i] = m + 100 * i;
    turned(20, 90, inside);
    permuted(400, order, in, out);
    xored(90, m + 3000, m + 5000); xored(30, m + 3004, m + 3000); xored(0, 0, 0);
    for (int i = 0; i < 8192; i++) if (i < 2048 || i > 2300) h = h * 31 + m[i];
    for (int i = 0; i < 400; i++) s += out[i] * (i % 7);
    printf("%lu %.7g\n", h, s);
    return 0;
}
#endif
