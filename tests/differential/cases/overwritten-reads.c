// taken: smooth mixed backwards
// tolerance: 1e-5
/* Elements that the next iterations overwrite, by a store that stands above the read. */
void smooth(int n, double *restrict p, const double *restrict q, double *restrict r)
{
    for (int k = 0; k < n - 2; k++) {
        p[k] = q[k] * 0.5 + q[k + 1];
        r[k] = p[k] - p[k + 2];
    }
}

void mixed(unsigned *restrict u, unsigned *restrict v, const unsigned *restrict w, int count)
{
    for (int t = 0; t < count; t++) {
        u[t] = v[t] + w[t] * w[t];
        v[t] = u[t] + w[t] * 3;
        u[t] = v[t] + u[t + 1] * w[t];
    }
}

void backwards(int n, float *restrict p, const float *restrict q, float *restrict r)
{
    for (int k = n - 1; k > 0; k--) {
        p[k] = q[k] * q[k];
        r[k] = p[k] + p[k - 1];
    }
}

/* The element behind the last need not exist. */
void chosen(int n, double *restrict p, const double *restrict q, double *restrict r, const int *restrict c)
{
    for (int k = 0; k < n; k++) {
        p[k] = q[k];
        r[k] = c[k] > 0 ? p[k] + p[k + 1] : q[k];
    }
}

void stored(int n, double *restrict p, const double *restrict q, double *restrict r, const int *restrict c)
{
    for (int k = 0; k < n; k++) {
        p[k] = q[k];
        if (c[k] > 0)
            r[k] = p[k] * p[k + 1];
    }
}

#ifdef MAIN
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    static double p[103], q[103], r[103];
    static unsigned u[103], v[103], w[103];
    static float f[103], g[103], h[103];
    double sum = 0;
    unsigned long hash = 0;
    for (int i = 0; i < 103; i++) {
        p[i] = i * 7 % 11, q[i] = i * 5 % 13, r[i] = i;
        u[i] = i * 77u % 101, v[i] = i * 55u % 89, w[i] = i * 3u;
        f[i] = p[i], g[i] = q[i], h[i] = i;
    }
    for (int n = 0; n <= 101; n += n < 40 ? 1 : 61) {
        smooth(n, p, q, r);
        mixed(u, v, w, n);
        backwards(n, f, g, h);
        for (int i = 0; i < 103; i++) {
            sum += (p[i] - r[i]) * (i + 1) + (f[i] - h[i]) * (i + 3);
            hash = hash * 31 + u[i] * 7 + v[i];
        }
    }
    for (int n = 1; n < 40; n++) {
        double *own = malloc(n * sizeof *own);
        int *c = malloc(n * sizeof *c);
        for (int i = 0; i < n; i++)
            own[i] = i % 7, c[i] = i < n - 1 && i % 3;
        chosen(n, own, q, r, c);
        stored(n, own, q, p, c);
        for (int i = 0; i < n; i++)
            sum += own[i] * (i + 1) + r[i] - p[i];
        free(own), free(c);
    }
    printf("%.7g %lu\n", sum, hash);
    return 0;
}
#endif
