#include <stdint.h>
int coldest(int days, const float *t)
{
    int at = 0;
    for (int d = 1; d < days; d++)
        if (t[d] < t[at])
        at = d;

    return at;
}

void brightest(int n, const uint8_t *px, uint8_t *value, int *where)
{
    uint8_t m = 0;
    int k = -1;
    for (int i = 0; i < n; i++)
        if (px[i] > m)
    {
        m = px[i];
        k = i;
    }

    *value = m;
    *where = k;
}

uint32_t djb(const unsigned char *s, int n)
{
    uint32_t h = 5381;
    for (int i = 0; i < n; i++)
        h = (h * 33) + s[i];

    return h;
}

long last_match(const int *v, long n, int key)
{
    long at = -1;
    for (long i = 0; i < n; i++)
        if (v[i] == key)
        at = i;

    return at;
}

void tallest(int n, const double *h, double *top, int *who)
{
    *top = h[0];
    *who = 0;
    for (int i = 1; i < n; i++)
        if ((*top) < h[i])
    {
        *top = h[i];
        *who = i;
    }
}

unsigned fnv(int n, const unsigned char *p)
{
    unsigned h = 2166136261u;
    while ((n--) > 0)
        h = (h + (*(p++))) * 16777619u;

    return h;
}
