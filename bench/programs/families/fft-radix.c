#include <stdint.h>
void wht(double *v, int n)
{
    for (int len = 1; len < n; len <<= 1)
        for (int i = 0; i < n; i += len << 1)
        for (int j = 0; j < len; j++)
    {
        double a = v[i + j];
        double b = v[(i + j) + len];
        v[i + j] = a + b;
        v[(i + j) + len] = a - b;
    }
}

void fft(int n, float *re, float *im, const float *wr, const float *wi)
{
    for (int h = 1; h < n; h *= 2)
        for (int s = 0; s < n; s += 2 * h)
        for (int k = 0; k < h; k++)
    {
        int t = k * (n / (2 * h));
        float xr = (re[(s + k) + h] * wr[t]) - (im[(s + k) + h] * wi[t]);
        float xi = (re[(s + k) + h] * wi[t]) + (im[(s + k) + h] * wr[t]);
        re[(s + k) + h] = re[s + k] - xr;
        im[(s + k) + h] = im[s + k] - xi;
        re[s + k] += xr;
        im[s + k] += xi;
    }
}

void subset_sums(int bits, int64_t *f)
{
    for (int b = 0; b < bits; b++)
        for (int m = 0; m < (1 << bits); m++)
        if ((m >> b) & 1)
        f[m] += f[m ^ (1 << b)];
}

void haarlike(int n, float *x)
{
    for (int half = n / 2; half >= 1; half /= 2)
        for (int s = 0; s < n; s += 2 * half)
        for (int j = s; j < (s + half); j++)
    {
        float p = x[j];
        float q = x[j + half];
        x[j] = p + q;
        x[j + half] = p - q;
    }
}

void fft1(int n, float *re, float *im, const float *wr, const float *wi)
{
    for (int h = 1; h < n; h *= 2)
    {
        int step = n / (2 * h);
        for (int s = 0; s < n; s += 2 * h)
            for (int k = 0; k < h; k++)
        {
            int t = k * step;
            float xr = (re[(s + k) + h] * wr[t]) - (im[(s + k) + h] * wi[t]);
            float xi = (re[(s + k) + h] * wi[t]) + (im[(s + k) + h] * wr[t]);
            re[(s + k) + h] = re[s + k] - xr;
            im[(s + k) + h] = im[s + k] - xi;
            re[s + k] += xr;
            im[s + k] += xi;
        }
    }
}

void fft2(int n, float *re, float *im, const float *wr, const float *wi)
{
    for (int h = 1; h < n; h *= 2)
        for (int s = 0; s < n; s += 2 * h)
        for (int k = 0; k < h; k++)
    {
        float w1 = wr[k * (n / (2 * h))];
        float w2 = wi[k * (n / (2 * h))];
        float xr = (re[(s + k) + h] * w1) - (im[(s + k) + h] * w2);
        float xi = (re[(s + k) + h] * w2) + (im[(s + k) + h] * w1);
        re[(s + k) + h] = re[s + k] - xr;
        im[(s + k) + h] = im[s + k] - xi;
        re[s + k] += xr;
        im[s + k] += xi;
    }
}

void fft3(int n, float *re, float *im, const float *wr, const float *wi)
{
    for (int h = 1; h < n; h *= 2)
        for (int s = 0; s < n; s += 2 * h)
        for (int k = 0; k < h; k++)
    {
        float w1 = wr[(k * n) / (2 * h)];
        float w2 = wi[(k * n) / (2 * h)];
        float xr = (re[(s + k) + h] * w1) - (im[(s + k) + h] * w2);
        float xi = (re[(s + k) + h] * w2) + (im[(s + k) + h] * w1);
        re[(s + k) + h] = re[s + k] - xr;
        im[(s + k) + h] = im[s + k] - xi;
        re[s + k] += xr;
        im[s + k] += xi;
    }
}

void fft4(int n, double *re, double *im, const double *wr, const double *wi)
{
    for (int len = 2; len <= n; len <<= 1)
    {
        int half = len / 2;
        int step = n / len;
        for (int s = 0; s < n; s += len)
            for (int k = 0; k < half; k++)
        {
            double w1 = wr[k * step];
            double w2 = wi[k * step];
            double xr = (re[(s + k) + half] * w1) - (im[(s + k) + half] * w2);
            double xi = (re[(s + k) + half] * w2) + (im[(s + k) + half] * w1);
            re[(s + k) + half] = re[s + k] - xr;
            im[(s + k) + half] = im[s + k] - xi;
            re[s + k] += xr;
            im[s + k] += xi;
        }
    }
}

void fft5(int n, double *z, const double *w)
{
    for (int len = 2; len <= n; len *= 2)
    {
        for (int s = 0; s < n; s += len)
            for (int k = 0; k < (len / 2); k++)
        {
            int i = s + k;
            int j = i + (len / 2);
            double w1 = w[2 * (k * (n / len))];
            double w2 = w[(2 * (k * (n / len))) + 1];
            double xr = (z[2 * j] * w1) - (z[(2 * j) + 1] * w2);
            double xi = (z[2 * j] * w2) + (z[(2 * j) + 1] * w1);
            z[2 * j] = z[2 * i] - xr;
            z[(2 * j) + 1] = z[(2 * i) + 1] - xi;
            z[2 * i] += xr;
            z[(2 * i) + 1] += xi;
        }
    }
}

void fft6(int n, float *re, float *im, const float *wr, const float *wi)
{
    for (int h = n / 2; h > 0; h >>= 1)
        for (int s = 0; s < n; s += 2 * h)
        for (int k = 0; k < h; k++)
    {
        int t = k * ((n / 2) / h);
        float ar = re[s + k];
        float ai = im[s + k];
        float br = re[(s + k) + h];
        float bi = im[(s + k) + h];
        re[s + k] = ar + br;
        im[s + k] = ai + bi;
        re[(s + k) + h] = ((ar - br) * wr[t]) - ((ai - bi) * wi[t]);
        im[(s + k) + h] = ((ar - br) * wi[t]) + ((ai - bi) * wr[t]);
    }
}
