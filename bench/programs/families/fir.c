void lowpass(int n, int taps, const float * restrict x, const float * restrict h, float * restrict y)
{
    for (int i = 0; i < n; i++)
    {
        float s = 0;
        for (int k = 0; k < taps; k++)
            s += h[k] * x[i + k];

        y[i] = s;
    }
}

void causal(const double *in, double * restrict out, const double c[16], int len)
{
    for (int t = 15; t < len; t++)
    {
        out[t] = 0;
        for (int j = 0; j < 16; j++)
            out[t] += c[j] * in[t - j];
    }
}

void correlate(int n, int lags, const float *a, const float *b, float * restrict r)
{
    for (int l = 0; l < lags; l++)
    {
        float acc = 0.f;
        for (int i = 0; i < n; i++)
            acc += a[i] * b[i + l];

        r[l] = acc;
    }
}

void moving(int n, int w, const float *p, float * restrict q)
{
    for (int i = 0; i < n; i++)
    {
        q[i] = 0;
        for (int j = 0; j < w; j++)
            q[i] += p[i + j];

        q[i] /= w;
    }
}

void scatter(int n, int m, const double *x, const double *h, double * restrict y)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
        y[i + k] += x[i] * h[k];
}

void decimate(int n, int t, const float *x, const float *c, float * restrict y)
{
    for (int i = 0; i < n; i++)
    {
        float s = 0;
        for (int k = 0; k < t; k++)
            s += x[(2 * i) + k] * c[k];

        y[i] = s;
    }
}
