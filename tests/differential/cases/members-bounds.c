// taken: product window
/* Bounds and strides are members, of matrices as they are passed by value; two names differ by a dot only. */
typedef struct { int rows, cols; long stride; } shape;
typedef struct { int first, last; unsigned short step; struct { int n; } by; int by_n; } span;

void product(shape a, shape b, const double *x, const double *y, double *restrict z)
{
    for (int i = 0; i < a.rows; i++)
        for (int j = 0; j < b.cols; j++) {
            double sum = 0;
            for (int k = 0; k < a.cols; k++)
                sum += x[i * a.stride + k] * y[k * b.stride + j];
            z[i * b.cols + j] = sum;
        }
}

void window(float *a, span s, float by_n)
{
    for (int i = s.first; i <= s.last; i++)
        a[i + s.by.n] = a[i + s.by.n] * (float)s.by_n + by_n * (float)s.step;
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static double x[600], y[600], z[400]; static float a[100]; double t = 0;
    shape p = { 17, 19, 23 }, q = { 19, 11, 13 };
    for (int i = 0; i < 600; i++) { x[i] = i % 7; y[i] = i % 5 - 2; }
    for (int i = 0; i < 100; i++) a[i] = (float)i;
    product(p, q, x, y, z);
    for (int i = 0; i < 400; i++) t += z[i] * (i % 9);
    window(a, (span){ 3, 60, 5, { 4 }, -2 }, 0.5f);
    for (int i = 0; i < 100; i++) t += a[i] * (i % 3);
    printf("%g\n", t);
    return 0;
}
#endif
