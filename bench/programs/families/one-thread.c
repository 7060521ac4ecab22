// --threads 2
void scale(long n, double *x, double f)
{
    for (long i = 0; i < n; i++)
        x[i] *= f;
}

void add(int n, const float *a, const float *b, float * restrict c)
{
    for (int i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

double dot(int n, const double *x, const double *y)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * y[i];

    return s;
}
