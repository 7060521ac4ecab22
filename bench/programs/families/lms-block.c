void lms(int n, int taps, const float *x, const float *d, float *w, float * restrict e, float mu)
{
    for (int i = 0; i < n; i++)
    {
        float y = 0;
        for (int k = 0; k < taps; k++)
            y += w[k] * x[i + k];

        e[i] = d[i] - y;
        for (int k = 0; k < taps; k++)
            w[k] += (mu * e[i]) * x[i + k];
    }
}

void adapt(const double *in, const double *want, double * restrict out, double h[32], int len, double step)
{
    for (int t = 31; t < len; t++)
    {
        double s = 0;
        for (int j = 0; j < 32; j++)
            s += h[j] * in[t - j];

        out[t] = s;
        double err = want[t] - s;
        for (int j = 0; j < 32; j++)
            h[j] += ((2 * step) * err) * in[t - j];
    }
}

void echo(int n, int L, const float *far, const float *mic, float *clean, float *c, float beta)
{
    for (int i = 0; i < n; i++)
    {
        float est = 0.f;
        for (int l = 0; l < L; l++)
            est += far[((i + L) - 1) - l] * c[l];

        float r = mic[i] - est;
        clean[i] = r;
        float g = beta * r;
        for (int l = 0; l < L; l++)
            c[l] += g * far[((i + L) - 1) - l];
    }
}

void sign_free(long n, const float *u, const float *want, float w[64], float * restrict err, float mu)
{
    for (long i = 0; i < n; i++)
    {
        float y = 0;
        for (int k = 0; k < 64; k++)
            y += w[k] * u[(i + 63) - k];

        float e = want[i] - y;
        err[i] = e;
        for (int k = 0; k < 64; k++)
            w[k] = w[k] + ((mu * e) * u[(i + 63) - k]);
    }
}
