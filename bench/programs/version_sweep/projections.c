/* Directions taken out of columns, or of rows: floats, a distance between rows, a factor that is not kept. */
#include <math.h>

void floats(int m, int n, int lda, float *restrict a, float *restrict r)
{
    for (int k = 0; k < n; k++) {
        float sum = 0.0f;
        for (int i = 0; i < m; i++)
            sum += a[i * lda + k] * a[i * lda + k];
        r[k * n + k] = sqrtf(sum);
        for (int i = 0; i < m; i++)
            a[i * lda + k] /= r[k * n + k];
        for (int j = k + 1; j < n; j++) {
            float with = 0.0f;
            for (int i = 0; i < m; i++)
                with += a[i * lda + k] * a[i * lda + j];
            r[k * n + j] = with;
            for (int i = 0; i < m; i++)
                a[i * lda + j] -= a[i * lda + k] * with;
        }
    }
}

void rows(int n, int m, double a[restrict n][m])
{
    for (int k = 0; k < n; k++) {
        double norm = 0.0;
        for (int i = 0; i < m; i++)
            norm += a[k][i] * a[k][i];
        norm = 1.0 / sqrt(norm);
        for (int i = 0; i < m; i++)
            a[k][i] *= norm;
        for (int j = k + 1; j < n; j++) {
            double with = 0.0;
            for (int i = 0; i < m; i++)
                with += a[k][i] * a[j][i];
            for (int i = 0; i < m; i++)
                a[j][i] -= with * a[k][i];
        }
    }
}

void apart(int m, int n, float A[restrict m][n], float Q[restrict m][n], float R[restrict n][n])
{
    for (int k = 0; k < n; k++) {
        float nrm = 0.0f;
        for (int i = 0; i < m; i++)
            nrm += A[i][k] * A[i][k];
        R[k][k] = sqrtf(nrm);
        for (int i = 0; i < m; i++)
            Q[i][k] = A[i][k] / R[k][k];
        for (int j = k + 1; j < n; j++)
            R[k][j] = 0.0f;
        for (int i = 0; i < m; i++)
            for (int j = k + 1; j < n; j++)
                R[k][j] += Q[i][k] * A[i][j];
        for (int i = 0; i < m; i++)
            for (int j = k + 1; j < n; j++)
                A[i][j] -= Q[i][k] * R[k][j];
    }
}
