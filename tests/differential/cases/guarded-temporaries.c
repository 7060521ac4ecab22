// taken: shrink split
// tolerance: 1e-5
/* Variables that are declared outside of a loop, and set and used under a condition alone: none of it is carried. */
void shrink(int n, float *restrict a, const float *restrict b, float *restrict c, const float *restrict d)
{
    float s;
    for (int i = 0; i < n; i++) {
        if (a[i] > b[i]) {
            s = a[i] - b[i] * d[i];
            c[i] += s;
            a[i] = s;
        }
    }
}

int split(int n, int *restrict a, const int *restrict b)
{
    int low, high, all = 0;
    for (int i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            low = a[i] & 255;
            high = a[i] >> 8;
            a[i] = low * high + low;
            all += high;
        }
    }
    return all;
}

float kept(int n, float *restrict a, const float *restrict b)
{
    float s = 1;
    for (int i = 0; i < n; i++) {
        if (b[i] > 4)
            s = b[i] * 2;
        a[i] = s;
    }
    return s;
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static float a[99], b[99], c[99], d[99];
    static int u[99], v[99];
    double sum = 0;
    long hash = 0;
    for (int n = 0; n <= 90; n += n < 20 ? 1 : 13) {
        for (int i = 0; i < 99; i++) {
            a[i] = i * 7 % 11, b[i] = i * 5 % 13, c[i] = i, d[i] = i % 3;
            u[i] = i * 777 % 1001, v[i] = i % 5 ? 3 : u[i];
        }
        shrink(n, a, b, c, d);
        hash = hash * 31 + split(n, u, v);
        for (int i = 0; i < 99; i++)
            sum += a[i] * (i + 1) + c[i] * (i + 2), hash = hash * 31 + u[i];
        sum += kept(n, a, b);
        for (int i = 0; i < 99; i++)
            sum += a[i] * (i + 1);
    }
    printf("%.7g %ld\n", sum, hash);
    return 0;
}
#endif
