void running(int n, const double *v, double *total)
{
    double t = 0;
    for (int k = 0; k < n; k++)
    {
        t += v[k];
        total[k] = t;
    }
}

void smooth(int len, float a, float *sig)
{
    for (int i = 1; i < len; i++)
        sig[i] = (a * sig[i - 1]) + ((1 - a) * sig[i]);
}

void high_water(int n, const int *level, int *mark)
{
    int m = level[0];
    for (int i = 0; i < n; i++)
    {
        if (level[i] > m)
            m = level[i];
        mark[i] = m;
    }
}

void cumulate(int n, int * restrict out, const int *in)
{
    out[0] = in[0];
    for (int i = 1; i < n; i++)
        out[i] = out[i - 1] + in[i];
}

void low_water(long n, const float *x, float *lo)
{
    float m = x[0];
    for (long i = 0; i < n; i++)
    {
        m = (x[i] < m) ? (x[i]) : (m);
        lo[i] = m;
    }
}

void offsets(int rows, const int *len, int *start)
{
    int at = 0;
    for (int r = 0; r < rows; r++)
    {
        start[r] = at;
        at += len[r];
    }
}

void row_starts(long rows, unsigned *nnz)
{
    unsigned at = 0;
    for (long r = 0; r < rows; ++r)
    {
        unsigned here = nnz[r];
        nnz[r] = at;
        at = at + here;
    }
}
