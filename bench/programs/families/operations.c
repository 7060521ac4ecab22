#include <math.h>
void mm(int n, const double *a, const double *b, double * restrict c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
    {
        double s = 0;
        for (int k = 0; k < n; k++)
            s += a[(i * n) + k] * b[(k * n) + j];

        c[(i * n) + j] = s;
    }
}

void atb(int m, int n, int p, const float a[p][m], const float b[p][n], float c[m][n])
{
    for (int k = 0; k < p; k++)
        for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
        c[i][j] += a[k][i] * b[k][j];
}

void scores(int q, int d, int n, const float query[q][d], const float key[n][d], float out[q][n], float scale)
{
    for (int i = 0; i < q; i++)
        for (int j = 0; j < n; j++)
    {
        out[i][j] = 0;
        for (int k = 0; k < d; k++)
            out[i][j] += query[i][k] * key[j][k];

        out[i][j] *= scale;
    }
}

void small_products(int n, const double a[n][4][4], const double b[n][4][4], double c[n][4][4])
{
    for (int p = 0; p < n; p++)
        for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
    {
        c[p][i][j] = 0;
        for (int k = 0; k < 4; k++)
            c[p][i][j] += a[p][i][k] * b[p][k][j];
    }
}

void quat(int n, float (*v)[4], const float m[4][4])
{
    for (int i = 0; i < n; i++)
    {
        float t[4];
        for (int r = 0; r < 4; r++)
        {
            t[r] = 0;
            for (int c = 0; c < 4; c++)
                t[r] += m[r][c] * v[i][c];
        }

        for (int r = 0; r < 4; r++)
            v[i][r] = t[r];
    }
}

void syrk_lower(int n, int k, const float a[n][k], float c[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
        for (int p = 0; p < k; p++)
        c[i][j] += a[i][p] * a[j][p];
}

void all_pairs(int n, int *d)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        if ((d[(i * n) + k] + d[(k * n) + j]) < d[(i * n) + j])
        d[(i * n) + j] = d[(i * n) + k] + d[(k * n) + j];
}

void chol(int n, double a[n][n])
{
    for (int j = 0; j < n; j++)
    {
        for (int k = 0; k < j; k++)
            a[j][j] -= a[j][k] * a[j][k];

        a[j][j] = sqrt(a[j][j]);
        for (int i = j + 1; i < n; i++)
        {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[j][k];

            a[i][j] /= a[j][j];
        }
    }
}

void lu(float *m, int n)
{
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++)
    {
        m[(i * n) + k] /= m[(k * n) + k];
        for (int j = k + 1; j < n; j++)
            m[(i * n) + j] -= m[(i * n) + k] * m[(k * n) + j];
    }
}

void ldl(int n, double l[n][n], double *d)
{
    for (int j = 0; j < n; j++)
    {
        double s = l[j][j];
        for (int k = 0; k < j; k++)
            s -= (l[j][k] * l[j][k]) * d[k];

        d[j] = s;
        for (int i = j + 1; i < n; i++)
        {
            double t = l[i][j];
            for (int k = 0; k < j; k++)
                t -= (l[i][k] * d[k]) * l[j][k];

            l[i][j] = t / s;
        }
    }
}

void lu_left(int n, double a[n][n])
{
    for (int j = 0; j < n; j++)
    {
        for (int i = 1; i <= j; i++)
            for (int k = 0; k < i; k++)
            a[i][j] -= a[i][k] * a[k][j];

        for (int i = j + 1; i < n; i++)
        {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[k][j];

            a[i][j] /= a[j][j];
        }
    }
}

void turned(int rows, int cols, const int *table, int *by_column)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++)
        by_column[(c * rows) + r] = table[(r * cols) + c];
}
