// slow
// taken: permuted dots picked blended
// tolerance: 1e-6
// sanitize
/* Subscripts that may be anything: rows of a sparse matrix, permutations; where stores may reach what is read, as is. */
void spmv(int rows, const int *start, const int *column, const double *value, const double *x, double *y)
{
    for (int i = 0; i < rows; i++) {
        double s = 0;
        for (int k = start[i]; k < start[i + 1]; k++)
            s += value[k] * x[column[k]];
        y[i] = s;
    }
}

void permuted(int n, const int *order, const double *in, float *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (float)in[order[i] - 1];
}

double dots(int n, const unsigned *at, const double *x, const double *w)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += w[i] * x[3 * at[i] + 1];
    return s;
}

long picked(int n, int m, const int *order, const int (*rows)[4], int c)
{
    long s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            s += rows[order[i * m + j]][c];
    return s;
}

void blended(int n, const long *from, const float *a, const float *b, float *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[from[i]] * 0.5f + b[from[n - 1 - i]];
}

void shifted(int n, const int *order, const float *a, float *b)     /* `b` may be what is read */
{
    for (int i = 0; i < n; i++)
        b[i] = a[order[i]] + 1;
}

int chosen(int n, const int *order, const int *a)                   /* read under a condition alone */
{
    int s = 0;
    for (int i = 0; i < n; i++)
        if (order[i] >= 0)
            s += a[order[i]];
    return s;
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static int start[42], column[4000], order[400], rows[100][4], few[100]; static unsigned at[200]; static long from[300];
    static double value[4000], x[700], y[41], w[200]; static float f[400], g[300], o[300]; double s = 0; long h = 0;
    for (int i = 0; i < 41; i++) start[i + 1] = start[i] + (i % 3 ? i * 7 % 90 : i % 6);
    for (int k = 0; k < 4000; k++) { column[k] = k * 37 % 700; value[k] = k % 7 - 3; }
    for (int i = 0; i < 700; i++) x[i] = i % 11;
    for (int i = 0; i < 400; i++) { order[i] = i * 13 % 99 + 1; f[i] = i % 17; }
    for (int i = 0; i < 400; i++) rows[i / 4][i % 4] = i % 23;
    for (int i = 0; i < 200; i++) { at[i] = (unsigned)(i * 31 % 200); w[i] = i % 5; }
    for (int i = 0; i < 300; i++) { from[i] = i * 7 % 300 - 100; g[i] = i % 29; }
    for (int i = 0; i < 100; i++) few[i] = i % 4 ? i * 3 % 90 : -7;
    spmv(41, start, column, value, x, y); spmv(0, 0, 0, 0, 0, 0);
    permuted(300, order, x, o); permuted(0, 0, 0, 0); s += o[7] + o[299];
    s += dots(200, at, x, w) + dots(70, at, x, w) + dots(3, at, x, w);
    h = picked(5, 80, order, rows, 2) + picked(80, 5, order, rows, 3);
    blended(300, from, f + 100, g + 100, o); shifted(90, order, f, f + 2); shifted(9, order, f, g);
    h += chosen(100, few, order);
    for (int i = 0; i < 41; i++) s += y[i] * (i % 5);
    for (int i = 0; i < 300; i++) s += o[i] * (i % 7) + f[i] * (i % 3) + g[i];
    printf("%ld %.8g\n", h, s);
    return 0;
}
#endif
