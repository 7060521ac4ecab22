/* Histograms: bytes, a part of a byte with weights, floats, two in one loop, rows; sums of integers that grow. */
typedef unsigned char byte;

void bytes(const byte *src, int *bins, int n)
{
    int i;
    for (i = 0; i < 256; i++)
        bins[i] = 0;
    while (n-- > 0)
        bins[*src++]++;
}

void weights(int n, const byte *restrict x, const int *restrict w, int *restrict h)
{
    for (int i = 1; i < n; i++)
        h[x[i] >> 3] += w[i];
}

void floats(int n, const byte *restrict x, const float *restrict w, float *restrict h)
{
    for (int i = 0; i < n; i++)
        h[x[i]] += w[i];
}

void pairs(int m, int n, const byte x[m][n], int g[32], long long h[256])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int low = x[i][j] & 31;
            g[low]++;
            h[x[i][j]] -= i;
        }
}

int running(int n, const int *restrict x, int *restrict y)
{
    int sum = 3;
    for (int i = 0; i < n; i++) {
        sum += x[i];
        y[i] = sum;
    }
    return sum;
}

void starts(int n, const byte *restrict x, int *restrict y)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        y[i] = sum;
        sum += x[i];
    }
}
