/* Sweeps that follow each other: over a line, a plane, in place, with fields, recurrences, paths, triangles. */

void line(int steps, int n, float *restrict a, float *restrict b)
{
    for (int t = 0; t < steps; t++) {
        for (int i = 2; i < n - 2; i++)
            b[i] = 0.2f * (a[i - 2] + a[i - 1] + a[i] + a[i + 1] + a[i + 2]);
        for (int i = 1; i < n - 1; i++)
            a[i] = 0.5f * (b[i - 1] + b[i + 1]);
    }
}

void whole(int steps, int n, int a[restrict n], int b[restrict n])
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = (a[i - 1] + 2 * a[i] + a[i + 1]) >> 2;
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
}

void plane(int steps, int h, int w, double a[restrict h][w], double b[restrict h][w])
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < h - 1; i++)
            for (int j = 1; j < w - 1; j++)
                b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        for (int i = 1; i < h - 1; i++)
            for (int j = 1; j < w - 1; j++)
                a[i][j] = b[i][j];
    }
}

void inplace(int steps, int n, float a[restrict n][n])
{
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.2f * (a[i - 1][j] + a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i + 1][j]);
}

void fields(int steps, int n, float e[restrict n][n], float h[restrict n][n])
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                e[i][j] -= 0.5f * (h[i][j] - h[i - 1][j]);
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++)
                h[i][j] -= 0.7f * (e[i + 1][j] - e[i][j + 1]);
    }
}

void smoothed(int n, float k, const float *restrict x, float *restrict y)
{
    y[0] = x[0];
    for (int i = 1; i < n; i++)
        y[i] = 0.5f * k * y[i - 1] + (1.0f - 0.5f * k) * x[i];
}

void backwards(int n, const double *restrict b, const double *restrict c, double *restrict x)
{
    for (int i = n - 2; i >= 0; i--)
        x[i] = b[i] - 0.4 * c[i] * x[i + 1];
}

void paths(int n, float d[restrict n][n])
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                d[i][j] = d[i][k] + d[k][j] < d[i][j] ? d[i][k] + d[k][j] : d[i][j];
}

void counts(int n, const int *restrict x, long *restrict y)
{
    long s = 0;
    for (int i = 0; i < n; i++) {
        s += x[i];
        y[i] = s;
    }
}
