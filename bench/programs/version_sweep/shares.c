/* Dense algebra whose blocks threads share out: products in every order, triangles, factors, solves, small types. */
#include <math.h>
#include <stdint.h>

void product(int m, int n, int k, int lda, int ldb, int ldc, const double *restrict a, const double *restrict b,
             double *restrict c)
{
    for (int p = 0; p < k; p++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++)
                c[i + j * ldc] += a[i + p * lda] * b[p + j * ldb];
}

void both(int n, int k, float alpha, float A[restrict k][n], float B[restrict k][n], float C[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            for (int p = 0; p < k; p++)
                C[i][j] += alpha * A[p][i] * B[p][j] + alpha * B[p][i] * A[p][j];
}

void cholesky(int n, int lda, float *a)
{
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < j; k++)
            a[j * lda + j] -= a[j * lda + k] * a[j * lda + k];
        a[j * lda + j] = sqrtf(a[j * lda + j]);
        for (int i = j + 1; i < n; i++) {
            for (int k = 0; k < j; k++)
                a[i * lda + j] -= a[i * lda + k] * a[j * lda + k];
            a[i * lda + j] /= a[j * lda + j];
        }
    }
}

void lower(int n, int m, double L[restrict n][n], double B[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            for (int k = 0; k < i; k++)
                B[i][j] -= L[i][k] * B[k][j];
            B[i][j] /= L[i][i];
        }
}

void turned(int m, int n, int k, uint8_t A[restrict m][k], int8_t B[restrict n][k], int32_t C[restrict m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int32_t s = 0;
            for (int p = 0; p < k; p++)
                s += A[i][p] * B[j][p];
            C[i][j] = s;
        }
}

void words(int m, int n, int k, int16_t A[restrict m][k], int16_t B[restrict k][n], int32_t C[restrict m][n])
{
    for (int i = 0; i < m; i++)
        for (int p = 0; p < k; p++)
            for (int j = 0; j < n; j++)
                C[i][j] += A[i][p] * B[p][j];
}

void twice(int m, int n, const float *restrict A, const float *restrict x, float *restrict y, float *restrict t)
{
    for (int j = 0; j < n; j++)
        y[j] = 0.0f;
    for (int i = 0; i < m; i++) {
        t[i] = 0.0f;
        for (int j = 0; j < n; j++)
            t[i] += A[i * n + j] * x[j];
        for (int j = 0; j < n; j++)
            y[j] += A[i * n + j] * t[i];
    }
}

void chain(int a, int b, int c, int d, double A[restrict a][b], double B[restrict b][c], double C[restrict c][d],
           double T[restrict a][c], double D[restrict a][d])
{
    for (int i = 0; i < a; i++)
        for (int j = 0; j < c; j++) {
            T[i][j] = 0.0;
            for (int k = 0; k < b; k++)
                T[i][j] += A[i][k] * B[k][j];
        }
    for (int i = 0; i < a; i++)
        for (int j = 0; j < d; j++) {
            D[i][j] = 0.0;
            for (int k = 0; k < c; k++)
                D[i][j] += T[i][k] * C[k][j];
        }
}
