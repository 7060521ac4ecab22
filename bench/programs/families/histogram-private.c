#include <stdint.h>
void byte_counts(const uint8_t * restrict text, long len, uint32_t * restrict bins)
{
    for (long p = 0; p < len; p++)
        bins[text[p]]++;
}

void weighted(int count, const int *cell, const float *mass, float total[64])
{
    for (int i = 0; i < count; i++)
        total[cell[i] & 63] += mass[i];
}

void levels(int h, int w, const unsigned short img[h][w], int hist[1024])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
        hist[img[y][x] >> 6] += 1;
}

void degree(long edges, const unsigned char *from, int *deg)
{
    for (long e = 0; e < edges; ++e)
        deg[from[e]] = deg[from[e]] + 1;
}

void charge(int n, const unsigned char *slot, const double *q, double *grid)
{
    int k = n;
    while (k > 0)
    {
        k--;
        grid[slot[k]] += q[k];
    }
}

void letters(int n, const char *s, int count[26])
{
    for (int i = 0; i < n; i++)
    {
        if (s[i] >= 'a' && s[i] <= 'z')
            count[s[i] - 'a']++;
        else if (s[i] >= 'A' && s[i] <= 'Z')
            count[s[i] - 'A']++;
    }
}
