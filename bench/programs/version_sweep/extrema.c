/* Reductions: extrema and where they are, norms, dots of small types, histograms, functions in lanes. */
#include <math.h>
#include <stdint.h>

int where(int n, const float *x)
{
    int at = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[at])
            at = i;
    return at;
}

double spread(int n, const double *x)
{
    double low = x[0], high = x[0];
    for (int i = 1; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    return high - low;
}

float norm(int n, int s, const float *x)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum += x[i * s] * x[i * s];
    return sqrtf(sum);
}

int32_t dot(int n, const int8_t *x, const uint8_t *y)
{
    int32_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

void rows(int m, int n, int64_t x[restrict m][n], int64_t y[restrict n])
{
    for (int j = 0; j < n; j++)
        y[j] = INT64_MIN;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            y[j] = x[i][j] > y[j] ? x[i][j] : y[j];
}

void logistic(int n, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = 1.0f / (1.0f + expf(-x[i]));
}

void wide(int n, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = exp(-x[i] * x[i]) + (x[i] > 1.0 ? 1.0 : x[i]);
}
