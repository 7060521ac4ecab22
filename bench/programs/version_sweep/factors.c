/* Factors of matrices that are well-conditioned, in other orders of loops: the upper triangle, columns first. */
#include <math.h>

void upper(int n, float a[restrict n][n])
{
    for (int k = 0; k < n; k++) {
        for (int p = 0; p < k; p++)
            a[k][k] -= a[p][k] * a[p][k];
        a[k][k] = sqrtf(a[k][k]);
        for (int j = k + 1; j < n; j++) {
            for (int p = 0; p < k; p++)
                a[k][j] -= a[p][k] * a[p][j];
            a[k][j] /= a[k][k];
        }
    }
}

void right(int n, double a[restrict n][n])
{
    for (int k = 0; k < n; k++) {
        a[k][k] = sqrt(a[k][k]);
        for (int i = k + 1; i < n; i++)
            a[i][k] /= a[k][k];
        for (int j = k + 1; j < n; j++)
            for (int i = j; i < n; i++)
                a[i][j] -= a[i][k] * a[j][k];
    }
}

void columns(int n, double a[restrict n][n])
{
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) {
            if (k < j)
                for (int i = k + 1; i < n; i++)
                    a[i][j] -= a[i][k] * a[k][j];
            if (k > j)
                a[k][j] /= a[j][j];
        }
}
