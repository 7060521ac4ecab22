// --size d=3
void rotate_points(int n, int d, const float *r, const float *p, float * restrict q)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < d; j++)
    {
        float s = 0;
        for (int k = 0; k < d; k++)
            s += r[(j * d) + k] * p[(i * d) + k];

        q[(i * d) + j] = s;
    }
}

void mean_channels(long pixels, int d, const double *img, double * restrict grey)
{
    for (long p = 0; p < pixels; p++)
    {
        double s = 0;
        for (int c = 0; c < d; c++)
            s += img[(p * d) + c];

        grey[p] = s / d;
    }
}

void taps(int n, int d, const float *x, const float *h, float * restrict y)
{
    for (int i = 0; i < n; i++)
    {
        y[i] = 0;
        for (int t = 0; t < d; t++)
            y[i] += h[t] * x[i + t];
    }
}
