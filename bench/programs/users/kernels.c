/* What somebody may try first: a filter, a product, and a loop that stays as it is. */
#include <stddef.h>

/* Weights of neighbours, as a moving average. */
void smooth(size_t n, const float *restrict in, float *restrict out)
{
    for (size_t i = 1; i + 1 < n; i++)
        out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
}

void matvec(int rows, int columns, const double *restrict a, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < rows; i++) { /* a row at a time */
        y[i] = 0.0;
        for (int j = 0; j < columns; j++)
            y[i] += a[i * columns + j] * x[j];
    }
}

void follow(int n, int *next)
{
    for (int i = 0; i < n; i++)
        next[next[i]] = i;
}
