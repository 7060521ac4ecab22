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

void blends(int n, int k, float (* restrict out)[n], const float (*in)[n], const float *w, float (* restrict left)[n])
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < k; c++)
    {
        float t = in[c][i] * w[c];
        out[c][i] = t;
        left[c][i] = in[c][i] - t;
    }
}
