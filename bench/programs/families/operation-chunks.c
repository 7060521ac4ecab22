// --threads 2
void products(int n, const double (*a)[16][16], const double (*b)[16][16], double (* restrict c)[16][16])
{
    for (int p = 0; p < n; p++)
        for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
    {
        double s = 0;
        for (int k = 0; k < 16; k++)
            s += a[p][i][k] * b[p][k][j];

        c[p][i][j] = s;
    }
}

void heads(int h, int m, int n, int k, const float *q, const float *t, float * restrict o)
{
    for (int b = 0; b < h; b++)
        for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
    {
        float s = 0;
        for (int d = 0; d < k; d++)
            s += q[(((b * m) + i) * k) + d] * t[(((b * n) + j) * k) + d];

        o[(((b * m) + i) * n) + j] = s;
    }
}

void layers(int l, int n, double (*w)[n][n], double (*x)[n][n], double (* restrict y)[n][n])
{
    for (int p = 0; p < l; p++)
        for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
    {
        y[p][i][j] = 0;
        for (int k = 0; k < n; k++)
            y[p][i][j] += w[p][i][k] * x[p][k][j];
    }
}
