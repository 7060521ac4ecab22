// --size n=1024
#include <math.h>
void dft(int n, const double *xr, const double *xi, double * restrict yr, double * restrict yi)
{
    for (int k = 0; k < n; k++)
    {
        double sr = 0;
        double si = 0;
        for (int t = 0; t < n; t++)
        {
            double w = ((((-2) * 3.14159265358979323846) * k) * t) / n;
            sr += (xr[t] * cos(w)) - (xi[t] * sin(w));
            si += (xr[t] * sin(w)) + (xi[t] * cos(w));
        }

        yr[k] = sr;
        yi[k] = si;
    }
}

void power_spectrum(int n, const float *x, float * restrict re, float * restrict im)
{
    for (int f = 0; f < n; f++)
    {
        re[f] = 0;
        im[f] = 0;
        for (int t = 0; t < n; t++)
        {
            re[f] += x[t] * cosf((((2 * ((float) M_PI)) * f) * t) / n);
            im[f] -= x[t] * sinf((((2 * ((float) M_PI)) * f) * t) / n);
        }
    }
}

void dct2(int n, const double *x, double * restrict X)
{
    for (int k = 0; k < n; k++)
    {
        double s = 0;
        for (int i = 0; i < n; i++)
            s += x[i] * cos(((M_PI / n) * (i + 0.5)) * k);

        X[k] = s;
    }
}

void dft64(const float *xr, const float *xi, float * restrict yr, float * restrict yi)
{
    for (int k = 0; k < 64; k++)
    {
        float a = 0;
        float b = 0;
        for (int t = 0; t < 64; t++)
        {
            float w = ((((-2) * ((float) M_PI)) * k) * t) / 64;
            a += (xr[t] * cosf(w)) - (xi[t] * sinf(w));
            b += (xr[t] * sinf(w)) + (xi[t] * cosf(w));
        }

        yr[k] = a;
        yi[k] = b;
    }
}

void spectrum1024(const double x[1024], double re[1024], double im[1024])
{
    for (int f = 0; f < 1024; f++)
    {
        double c = 0;
        double s = 0;
        for (int n = 0; n < 1024; n++)
        {
            c += x[n] * cos((((2 * M_PI) * f) * n) / 1024);
            s -= x[n] * sin((((2 * M_PI) * f) * n) / 1024);
        }

        re[f] = c;
        im[f] = s;
    }
}

void dct256(const double *x, double * restrict X)
{
    for (int k = 0; k < 256; k++)
    {
        double s = 0;
        for (int i = 0; i < 256; i++)
            s += x[i] * cos(((M_PI / 256) * (i + 0.5)) * k);

        X[k] = s;
    }
}

void inverse128(const float *yr, const float *yi, float * restrict xr, float * restrict xi)
{
    for (int t = 0; t < 128; t++)
    {
        xr[t] = 0;
        xi[t] = 0;
        for (int k = 0; k < 128; k++)
        {
            float c = cosf((((2 * ((float) M_PI)) * k) * t) / 128);
            float s = sinf((((2 * ((float) M_PI)) * k) * t) / 128);
            xr[t] += (yr[k] * c) - (yi[k] * s);
            xi[t] += (yr[k] * s) + (yi[k] * c);
        }

        xr[t] /= 128;
        xi[t] /= 128;
    }
}
