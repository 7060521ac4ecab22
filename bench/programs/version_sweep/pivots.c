/* Eliminations that choose rows: floats with a distance between rows, columns one after the other, a fixed matrix. */
#include <math.h>

int factor(int n, int lda, float *a, int *rows)
{
    int swaps = 0;
    for (int k = 0; k < n; k++) {
        int p = k;
        float most = fabsf(a[k * lda + k]);
        for (int i = k + 1; i < n; i++)
            if (fabsf(a[i * lda + k]) > most) {
                most = fabsf(a[i * lda + k]);
                p = i;
            }
        rows[k] = p;
        if (p != k) {
            swaps++;
            for (int j = 0; j < n; j++) {
                float t = a[k * lda + j];
                a[k * lda + j] = a[p * lda + j];
                a[p * lda + j] = t;
            }
        }
        for (int i = k + 1; i < n; i++)
            a[i * lda + k] /= a[k * lda + k];
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++)
                a[i * lda + j] -= a[i * lda + k] * a[k * lda + j];
    }
    return swaps;
}

void columns(int n, double a[restrict n][n], int rows[restrict n])
{
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[k][i]) > fabs(a[k][p]))
                p = i;
        rows[k] = p;
        for (int j = 0; j < n; j++) {
            double t = a[j][k];
            a[j][k] = a[j][p];
            a[j][p] = t;
        }
        for (int i = k + 1; i < n; i++)
            a[k][i] /= a[k][k];
        for (int j = k + 1; j < n; j++)
            for (int i = k + 1; i < n; i++)
                a[j][i] -= a[k][i] * a[j][k];
    }
}

void solved(int n, double a[restrict n][n], double b[restrict n])
{
    for (int k = 0; k < n; k++) {
        int p = k;
        double best = fabs(a[k][k]);
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i][k]) > best) {
                best = fabs(a[i][k]);
                p = i;
            }
        for (int j = k; j < n; j++) {
            double t = a[k][j];
            a[k][j] = a[p][j];
            a[p][j] = t;
        }
        double t = b[k];
        b[k] = b[p];
        b[p] = t;
        for (int i = k + 1; i < n; i++) {
            double f = a[i][k] / a[k][k];
            for (int j = k; j < n; j++)
                a[i][j] -= f * a[k][j];
            b[i] -= f * b[k];
        }
    }
}

void fixed(float a[70][70], unsigned char rows[70])
{
    for (int k = 0; k < 70; k++) {
        int p = k;
        for (int i = k; i < 70; i++)
            if (fabsf(a[i][k]) > fabsf(a[p][k]))
                p = i;
        rows[k] = (unsigned char)p;
        for (int j = 0; j < 70; j++) {
            float t = a[k][j];
            a[k][j] = a[p][j];
            a[p][j] = t;
        }
        for (int i = k + 1; i < 70; i++) {
            a[i][k] /= a[k][k];
            for (int j = k + 1; j < 70; j++)
                a[i][j] -= a[i][k] * a[k][j];
        }
    }
}
