/* Square matrices transposed where they are: a distance between rows, an offset, many of them, whole numbers. */
#include <stdint.h>

void inside(int n, int lda, int at, double *a)
{
    double *b = a + at;
    for (int i = 1; i < n; i++)
        for (int j = 0; j < i; j++) {
            double t = b[i * lda + j];
            b[i * lda + j] = b[j * lda + i];
            b[j * lda + i] = t;
        }
}

void many(int m, int n, float a[restrict m][n][n])
{
    for (int b = 0; b < m; b++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < j; i++) {
                float t = a[b][i][j];
                a[b][i][j] = a[b][j][i];
                a[b][j][i] = t;
            }
}

void whole(int n, int32_t a[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            int32_t t = a[i][j];
            a[i][j] = a[j][i];
            a[j][i] = t;
        }
}

void copied(int m, int n, int lda, int ldb, const double *restrict a, double *restrict b)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            b[j * ldb + i] = a[i * lda + j];
}

void bytes(int m, int n, const unsigned char a[restrict m][n], unsigned char b[restrict n][m])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            b[j][i] = a[i][j];
}
