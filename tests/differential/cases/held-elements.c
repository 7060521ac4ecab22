// taken: knapsack scaled squares grow resample
// tolerance: 1e-6
// sanitize
/* Bounds and subscripts that are read from memory and stay as they are: also where stores lie over them. */
void knapsack(int n, int cap, const int *w, const int *v, int *best)
{
    for (int i = 0; i < n; i++)
        for (int c = cap; c >= w[i]; c--)
            best[c] = best[c] > best[c - w[i]] + v[i] ? best[c] : best[c - w[i]] + v[i];
}

void scaled(const int *n, const float *a, const float *x, float *y)
{
    for (int i = 0; i < *n; i++)
        y[i] += *a * x[i];
}

double squares(int r, const int *start, const double *v)
{
    double s = 0;
    for (int k = start[r]; k < start[r + 1]; k++)
        s += v[k] * v[k];
    return s;
}

void grow(int *n, int *a)
{
    for (int i = 0; i < *n; i++)
        a[i] = i;
}

void resample(int w, const unsigned char *in, int *out, const int *first, const int *count)
{
    for (int x = 0; x < w; x++) {
        int s = 0;
        for (int i = 0; i < count[x]; i++)
            s += in[first[x] + i] * (i + 1);
        out[x] = s;
    }
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static int w[20], v[20], best[300], rows[30], first[40], count[40], out[40]; static float x[100], y[100]; static double d[200]; static unsigned char in[200];
    double s = 0; unsigned long h = 0; int n = 77; float a = 0.5f;
    for (int i = 0; i < 20; i++) { w[i] = 3 + i * 7 % 11; v[i] = i * 13 % 17; }
    for (int i = 0; i < 30; i++) rows[i] = i ? rows[i - 1] + i % 5 : 0;
    for (int i = 0; i < 40; i++) { first[i] = i * 3; count[i] = i % 7; }
    for (int i = 0; i < 200; i++) { d[i] = i % 9; in[i] = (unsigned char)(i * 5); }
    for (int i = 0; i < 100; i++) x[i] = i % 13;
    knapsack(20, 250, w, v, best); knapsack(1, 30, &best[25], v, best); knapsack(0, 30, 0, 0, 0);
    scaled(&n, &a, x, y); scaled(&n, &y[3], x, y);
    for (int r = 0; r < 29; r++) s += squares(r, rows, d);
    int same[40] = { 9 }; same[7] = 3; grow(&same[7], same); grow(&same[30], same);
    resample(40, in, out, first, count); resample(20, in, first, first, count);
    for (int i = 0; i < 300; i++) h = h * 31 + (unsigned)best[i];
    for (int i = 0; i < 40; i++) h = h * 31 + (unsigned)(same[i] + out[i] + first[i]);
    for (int i = 0; i < 100; i++) s += y[i] * (i % 7);
    printf("%lu %.8g\n", h, s);
    return 0;
}
#endif
