void matvec(int m, int n, const float a[m][n], const float *x, float * restrict y)
{
    for (int i = 0; i < m; i++)
    {
        float s = 0;
        for (int j = 0; j < n; j++)
            s += a[i][j] * x[j];

        y[i] = s;
    }
}

void row_norms(int rows, int cols, const double *p, double * restrict norm)
{
    for (int r = 0; r < rows; r++)
    {
        norm[r] = 0;
        for (int c = 0; c < cols; c++)
            norm[r] += p[(r * cols) + c] * p[(r * cols) + c];
    }
}

void distances(int k, int d, const float c[k][d], const float q[d], float * restrict out)
{
    for (int i = 0; i < k; i++)
    {
        float s = 0;
        for (int j = 0; j < d; j++)
        {
            float e = c[i][j] - q[j];
            s += e * e;
        }

        out[i] = s;
    }
}

void projected(int k, int d, const float *w, const float *x, float * restrict out, const float *bias)
{
    for (int i = 0; i < k; i++)
    {
        float s = bias[i];
        for (int j = 0; j < d; j++)
            s += w[(i * d) + j] * x[j];

        out[i] = s;
    }
}

void sums(long m, long n, const double (*a)[n], double * restrict s)
{
    for (long i = 0; i < m; i++)
    {
        s[i] = 0;
        for (long j = 0; j < n; j++)
            s[i] += a[i][j];
    }
}
