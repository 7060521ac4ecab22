// taken: three last wraps waits
// tolerance: 1e-5
/* Values that loops carry for two iterations: from an array, made of its elements, and from what the loop stores. */
void three(int n, float *restrict out, const float *restrict in, float p, float q)
{
    for (int i = 0; i < n; i++) {
        out[i] = (in[i] + p + q) * 0.333f;
        q = p;
        p = in[i];
    }
}
double last(int n, double *restrict out, const double *restrict in)
{
    double p = in[0], q = in[1];
    for (int k = 0; k < n; k++) {
        out[k] = p - q * in[k];
        q = p;
        p = in[k] * 2 + 1;
    }
    return p + q;
}
void wraps(short *restrict out, const short *restrict in)
{
    int p = in[999], q = in[998];
    for (int k = 0; k < 1000; k++) {
        out[k] = (in[k] + 2 * p + q) >> 2;
        q = p;
        p = in[k];
    }
}
void waits(int n, float *restrict out, const float *restrict in, float p, float q)
{
    for (int i = 0; i < n; i++) {
        out[i] = in[i] + q;
        q = p;
        p = out[i] * 0.5f;
    }
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static float a[99], b[99];
    static double p[99], q[99];
    static short s[1000], t[1000];
    double sum = 0;
    unsigned long hash = 0;
    for (int i = 0; i < 1000; i++)
        t[i] = (short)(i * 37 % 301 - 150);
    wraps(s, t);
    for (int i = 0; i < 1000; i++)
        hash = hash * 31 + (unsigned short)s[i];
    for (int n = 0; n <= 90; n += n < 20 ? 1 : 13) {
        for (int i = 0; i < 99; i++)
            a[i] = 0, b[i] = i * 7 % 11, p[i] = 0, q[i] = i * 5 % 13;
        three(n, a, b, 3, 5);
        sum += last(n, p, q);
        for (int i = 0; i < 99; i++)
            sum += a[i] * (i + 1) + p[i] * (i + 2);
        waits(n, a, b, 2, 7);
        for (int i = 0; i < 99; i++)
            sum += a[i] * (i + 1);
    }
    printf("%.7g %lu\n", sum, hash);
    return 0;
}
#endif
