/* What is only written, beside what is read: pairs, rows with a distance, shares of rows, sums before it, bytes. */
#include <math.h>

void affine(int n, float a, float b, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + b;
}

void complex_scaled(int n, double re, double im, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++) {
        y[2 * i] = re * x[2 * i] - im * x[2 * i + 1];
        y[2 * i + 1] = re * x[2 * i + 1] + im * x[2 * i];
    }
}

void block(int m, int n, int lda, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            y[i * lda + j] = x[i * lda + j] * 3.0f + 1.0f;
}

void centred(int m, int n, float x[restrict m][n], float y[restrict m][n])
{
    for (int i = 0; i < m; i++) {
        float most = x[i][0], sum = 0.0f;
        for (int j = 1; j < n; j++)
            most = x[i][j] > most ? x[i][j] : most;
        for (int j = 0; j < n; j++) {
            y[i][j] = expf(x[i][j] - most);
            sum += y[i][j];
        }
        for (int j = 0; j < n; j++)
            y[i][j] /= sum;
    }
}

void scaled(int m, int n, double x[restrict m][n], double y[restrict m][n])
{
    for (int i = 0; i < m; i++) {
        double sum = 0.0;
        for (int j = 0; j < n; j++)
            sum += x[i][j];
        for (int j = 0; j < n; j++)
            y[i][j] = x[i][j] - sum / n;
    }
}

void levels(int n, const unsigned char *restrict x, unsigned char *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = (unsigned char)(255 - x[i]);
}
