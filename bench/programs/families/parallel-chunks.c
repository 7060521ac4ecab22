// --threads 2
void counts(long n, const unsigned char *s, unsigned *bins)
{
    for (long i = 0; i < n; i++)
        bins[s[i]]++;
}

void totals(int rows, int cols, const double (*a)[cols], const double *x, double * restrict s)
{
    for (int r = 0; r < rows; r++)
    {
        double t = 0;
        for (int c = 0; c < cols; c++)
            t += a[r][c] * x[c];

        s[r] = t;
    }
}

void mirror(int n, float (*m)[n])
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
    {
        float t = m[i][j];
        m[i][j] = m[j][i];
        m[j][i] = t;
    }
}

void scores(int n, int taps, const float *x, const float *h, float * restrict y)
{
    for (int i = 0; i < n; i++)
    {
        float s = 0;
        for (int k = 0; k < taps; k++)
            s += h[k] * x[i + k];

        y[i] = s;
    }
}
