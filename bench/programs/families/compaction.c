#include <stdint.h>
int keep_positive(int n, const float *x, float *y)
{
    int k = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > 0)
        y[k++] = x[i];

    return k;
}

int indices(int n, const uint8_t *mask, int *out)
{
    int m = 0;
    for (int i = 0; i < n; i++)
    {
        if (mask[i])
        {
            out[m] = i;
            m = m + 1;
        }
    }

    return m;
}

int nonzero(const int * restrict a, int n, int * restrict out)
{
    int *p = out;
    for (int i = 0; i < n; i++)
        if (a[i] != 0)
        *(p++) = a[i];

    return p - out;
}

long squeeze(unsigned char *s, long n)
{
    long w = 0;
    for (long r = 0; r < n; r++)
    {
        if (s[r] != 32)
        {
            s[w] = s[r];
            w++;
        }
    }

    return w;
}

int within(int n, const double *t, double lo, double hi, double *kept)
{
    int k = 0;
    for (int i = 0; i < n; i++)
    {
        double v = t[i];
        if ((v >= lo) && (v < hi))
            kept[k++] = v;
    }

    return k;
}
