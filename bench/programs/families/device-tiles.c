void gemm(int m, int n, int k, const float (*a)[k], const float (*b)[n], float (* restrict c)[n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
    {
        float s = 0;
        for (int p = 0; p < k; p++)
            s += a[i][p] * b[p][j];

        c[i][j] = s;
    }
}

void flipped(int h, int w, const double *x, double * restrict y)
{
    for (int r = 0; r < h; r++)
        for (int c = 0; c < w; c++)
        y[(c * h) + r] = x[(r * w) + c];
}

void row_sums(int rows, int cols, const float (*a)[cols], float * restrict s)
{
    for (int r = 0; r < rows; r++)
    {
        float t = 0;
        for (int c = 0; c < cols; c++)
            t += a[r][c];

        s[r] = t;
    }
}
