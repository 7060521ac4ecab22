void saxpy(int n, float a, const float *x, float * restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}

void luma(int h, int w, const float (*rgb)[w][3], float (* restrict y)[w])
{
    for (int r = 0; r < h; r++)
        for (int c = 0; c < w; c++)
        y[r][c] = ((.3f * rgb[r][c][0]) + (.6f * rgb[r][c][1])) + (.1f * rgb[r][c][2]);
}

void edges(int h, int w, const double *p, double * restrict q)
{
    for (int y = 1; y < (h - 1); y++)
        for (int x = 1; x < (w - 1); x++)
        q[(y * w) + x] = ((p[((y * w) + x) + 1] - p[((y * w) + x) - 1]) + p[((y + 1) * w) + x]) - p[((y - 1) * w) + x];
}
