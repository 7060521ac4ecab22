void mixdown(int m, int n, float * restrict a, float * restrict b, const float *g)
{
    for (int j = 0; j < n; j++)
        for (int t = 0; t < m; t++)
    {
        float s = a[(t * n) + j] + b[(t * n) + j];
        a[(t * n) + j] = s;
        b[(t * n) + j] = s * g[j];
    }
}

void halves(int h, int w, double (* restrict p)[w], double (* restrict q)[w])
{
    for (int x = 0; x < w; x++)
        for (int y = 0; y < h; y++)
    {
        double u = p[y][x];
        double v = q[y][x];
        p[y][x] = u + v;
        q[y][x] = u - v;
    }
}

void rotate_rows(int rows, int cols, double (* restrict x)[cols], double (* restrict y)[cols], const double *c, const double *s)
{
    for (int j = 0; j < cols; j++)
        for (int i = 0; i < rows; i++)
    {
        double u = x[i][j];
        double v = y[i][j];
        x[i][j] = (c[j] * u) + (s[j] * v);
        y[i][j] = (c[j] * v) - (s[j] * u);
    }
}
