// taken: both updated read_between rows
/* Stores that the next iteration makes anew: of the first of each pair, the last alone is left. */
void both(int n, double *restrict p, const double *restrict q, const double *restrict r)
{
    for (int k = 0; k < n; k++) {
        p[k + 1] = q[k] + r[k];
        p[k] = q[k] * 2;
    }
}

void updated(int n, unsigned *restrict u, unsigned *restrict v, const unsigned *restrict w)
{
    for (int t = 0; t < n; t++) {
        u[t] = v[t] + w[t] * w[t];
        v[t] = w[t] + v[t];
        u[t + 1] = v[t] + u[t + 1] * w[t];
    }
}

void read_between(int n, float *restrict p, const float *restrict q, float *restrict r)
{
    for (int k = 0; k < n; k++) {
        p[k + 1] = q[k];
        r[k] = p[k] + p[k + 1];
        p[k] = q[k] * q[k];
    }
}

void rows(int n, short m[][20], const short *restrict row)
{
    for (int i = n - 1; i >= 0; i--)
        for (int j = 0; j < 20; j++) {
            m[i][j] = row[j] * 3;
            m[i + 1][j] = (short)(row[j] + i);
        }
}

/* The store that would make it anew may never come. */
int until(int n, double *restrict p, const double *restrict q, const double *restrict r)
{
    int k;
    for (k = 0; k < n; k++) {
        p[k + 1] = q[k] + 1;
        if (r[k] == 40)
            break;
        p[k] = q[k] * 2;
    }
    return k;
}

void until_first(int n, int *restrict u, const int *restrict v, const int *restrict w)
{
    for (int t = 0; t < n && w[t] != 41; t++) {
        u[t + 1] = v[t];
        u[t] = v[t] * 3;
    }
}

void sometimes(int n, int *restrict u, const int *restrict v)
{
    for (int t = 0; t < n; t++) {
        u[t + 1] = v[t];
        if (v[t] & 1)
            u[t] = v[t] * 5;
    }
}

void scattered(int n, int *restrict u, const int *restrict v, const unsigned char *restrict at)
{
    for (int t = 0; t < n; t++) {
        u[t + 1] = v[t];
        u[at[t]] = v[t] * 7;
    }
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static double p[99], q[99], r[99];
    static unsigned u[99], v[99], w[99];
    static float f[99], g[99], h[99];
    static short m[99][20], row[20];
    static unsigned char at[99];
    double sum = 0;
    unsigned long hash = 0;
    for (int n = 0; n <= 90; n += n < 20 ? 1 : 13) {
        for (int i = 0; i < 99; i++) {
            p[i] = i * 7 % 11, q[i] = i * 5 % 13, r[i] = i;
            u[i] = i * 77u % 101, v[i] = i * 55u % 89, w[i] = i * 3u;
            f[i] = p[i], g[i] = q[i], h[i] = i, row[i % 20] = (short)(i * 3 % 17);
        }
        both(n, p, q, r);
        updated(n, u, v, w);
        read_between(n, f, g, h);
        rows(n, m, row);
        int *x = (int *)u, *y = (int *)v;
        for (int i = 0; i < 99; i++)
            at[i] = (unsigned char)(i * 3 % 98), y[i] = i * 11 % 37, hash = hash * 31 + u[i];
        sum += until(n, p, q, r);
        until_first(n, x, y, (int *)w);
        sometimes(n / 2, x, y);
        scattered(n, x + 0, y, at);
        for (int i = 0; i < 99; i++) {
            sum += p[i] * (i + 1) + (f[i] - h[i]) * (i + 3);
            hash = hash * 31 + u[i] * 7 + v[i] + (unsigned short)m[i][i % 20];
        }
    }
    printf("%.9g %lu\n", sum, hash);
    return 0;
}
#endif
