void cascade(int n, int sections, const float *x, float * restrict y, const float (*c)[5], float (*s)[2])
{
    for (int i = 0; i < n; i++)
    {
        float v = x[i];
        for (int k = 0; k < sections; k++)
        {
            float o = (c[k][0] * v) + s[k][0];
            s[k][0] = ((c[k][1] * v) - (c[k][3] * o)) + s[k][1];
            s[k][1] = (c[k][2] * v) - (c[k][4] * o);
            v = o;
        }

        y[i] = v;
    }
}

void df1(const double *in, double *out, int len, const double *b, const double *a, double *xs, double *ys, int stages)
{
    for (int s = 0; s < stages; s++)
    {
        double x1 = xs[2 * s];
        double x2 = xs[(2 * s) + 1];
        double y1 = ys[2 * s];
        double y2 = ys[(2 * s) + 1];
        for (int i = 0; i < len; i++)
        {
            double x = in[i];
            double y = ((((b[3 * s] * x) + (b[(3 * s) + 1] * x1)) + (b[(3 * s) + 2] * x2)) - (a[2 * s] * y1)) - (a[(2 * s) + 1] * y2);
            x2 = x1;
            x1 = x;
            y2 = y1;
            y1 = y;
            out[i] = y;
        }

        xs[2 * s] = x1;
        xs[(2 * s) + 1] = x2;
        ys[2 * s] = y1;
        ys[(2 * s) + 1] = y2;
        in = out;
    }
}

void eq(float *sig, int n, const float k[4][5], float z[4][2])
{
    for (int t = 0; t < n; t++)
        for (int s = 0; s < 4; s++)
    {
        float in = sig[t];
        float out = (k[s][0] * in) + z[s][0];
        z[s][0] = ((k[s][1] * in) + z[s][1]) - (k[s][3] * out);
        z[s][1] = (k[s][2] * in) - (k[s][4] * out);
        sig[t] = out;
    }
}

void sos(long n, int ns, const double *x, double * restrict y, const double *b, const double *a, double *z)
{
    for (long i = 0; i < n; i++)
    {
        double u = x[i];
        for (int s = 0; s < ns; s++)
        {
            double v = (b[3 * s] * u) + z[2 * s];
            z[2 * s] = ((b[(3 * s) + 1] * u) - (a[2 * s] * v)) + z[(2 * s) + 1];
            z[(2 * s) + 1] = (b[(3 * s) + 2] * u) - (a[(2 * s) + 1] * v);
            u = v;
        }

        y[i] = u;
    }
}

void df2(int n, const float *in, float * restrict out, const float c[6][5], float w[6][2])
{
    for (int t = 0; t < n; t++)
    {
        float s = in[t];
        for (int k = 0; k < 6; k++)
        {
            float m = (s - (c[k][3] * w[k][0])) - (c[k][4] * w[k][1]);
            s = ((c[k][0] * m) + (c[k][1] * w[k][0])) + (c[k][2] * w[k][1]);
            w[k][1] = w[k][0];
            w[k][0] = m;
        }

        out[t] = s;
    }
}
