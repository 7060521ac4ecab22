// taken: ahead columns
// never says: block-wavefront
/* Lone loops over rows of a length that is not known, of which they use a column; each iteration reads the next row. */
void ahead(int n, int step, float *restrict p, const float *restrict q)
{
    for (int i = 0; i < n; i += step)
        p[i] = p[i + step] + q[i];
}

void columns(int n, int w, double *restrict p, const double *restrict q)
{
    for (int k = 0; k < n; k++)
        p[k * w] = p[(k + 1) * w] - q[k * w];
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static float a[400], b[400];
    static double p[400], q[400];
    double sum = 0;
    for (int step = 1; step < 4; step++)
        for (int n = 0; n < 99; n += n < 20 ? 1 : 39) {
            for (int i = 0; i < 400; i++)
                a[i] = p[i] = i * 7 % 11, b[i] = q[i] = i * 5 % 13;
            ahead(n, step, a, b);
            columns(n, step, p, q);
            for (int i = 0; i < 400; i++)
                sum += a[i] * (i + 1) + p[i] * (i + 2);
        }
    printf("%.9g\n", sum);
    return 0;
}
#endif
