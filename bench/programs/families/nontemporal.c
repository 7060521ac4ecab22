void triad(long n, double * restrict a, const double *b, const double *c, double q)
{
    for (long i = 0; i < n; i++)
        a[i] = b[i] + (q * c[i]);
}

void fill2d(int h, int w, float (*p)[w], float v)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
        p[y][x] = v;
}

void lerp(int n, const float *a, const float *b, float t, float * restrict out)
{
    int i = 0;
    while (i < n)
    {
        out[i] = a[i] + (t * (b[i] - a[i]));
        i++;
    }
}

void laplace(int h, int w, const double (*u)[w], double (* restrict v)[w])
{
    for (int y = 1; y < (h - 1); y++)
        for (int x = 1; x < (w - 1); x++)
        v[y][x] = (((u[y - 1][x] + u[y + 1][x]) + u[y][x - 1]) + u[y][x + 1]) - (4 * u[y][x]);
}
