void transpose_out(int m, int n, const float (*a)[n], const float (*s)[n], float (* restrict b)[m])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
        b[j][i] = (a[i][j] * 2) + s[i][j];
}

void sweep2d(int t, int n, double (*a)[n], double (*b)[n])
{
    for (int s = 0; s < t; s++)
    {
        for (int i = 1; i < (n - 1); i++)
            for (int j = 1; j < (n - 1); j++)
            b[i][j] = .25 * (((a[i - 1][j] + a[i + 1][j]) + a[i][j - 1]) + a[i][j + 1]);

        for (int i = 1; i < (n - 1); i++)
            for (int j = 1; j < (n - 1); j++)
            a[i][j] = b[i][j];
    }
}

void two_vectors(int n, const double (*a)[n], const double *x, double * restrict y, double * restrict z)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
    {
        y[i] += a[i][j] * x[j];
        z[j] += a[i][j] * x[i];
    }
}

void polynomial(int n, const float *x, float * restrict y)
{
    for (int i = 0; i < n; i++)
    {
        float v = x[i];
        y[i] = (((((v * 3) + 2) * v) - 1) * v) + 7;
    }
}
