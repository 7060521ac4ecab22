// taken: half thirds product part_down of_quotients
/* Loops whose steps are variables, up to ends that are quotients of sizes, or products of these. */
void half(int n, int step, float *x)
{
    for (int i = 0; i < n / 2; i += step)
        x[i] = x[i] * 2 + 1;
}

void thirds(int len, int by, int *restrict v)
{
    for (int k = 0; k < len - len / 3 * 2; k += by)
        v[k] += 5;
}

void product(int rows, int width, long stride, double *p)
{
    for (long i = 0; i < rows * (width / 2); i += stride)
        p[i] = 1 - p[i];
}

void part_down(int n, int back, short *a)
{
    for (int i = n / 3 - 1; i >= 0; i -= back)
        a[i] = (short)(a[i] + 3);
}

void of_quotients(int n, int m, int s, float *y)
{
    if (m < 1)
        return;
    for (int i = 0; i < n / m; i += s)
        y[i] -= 2;
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static float x[600], y[600];
    static double p[600];
    static int v[600];
    static short a[600];
    double sum = 0;
    for (int step = 1; step < 4; step++)
        for (int n = -3; n < 120; n += n < 20 ? 1 : 39) {
            for (int i = 0; i < 600; i++)
                a[i] = v[i] = i * 7 % 11, x[i] = y[i] = i * 5 % 13, p[i] = i % 3;
            half(n, step, x);
            thirds(n, step, v);
            product(step, n, step + 1, p);
            part_down(n, step, a);
            of_quotients(n, step + 1, step, y);
            for (int i = 0; i < 600; i++)
                sum += (x[i] + v[i]) * (i + 1) + p[i] * (i + 2) + a[i] * (i + 3) + y[i] * (i + 4);
        }
    printf("%.9g\n", sum);
    return 0;
}
#endif
