/* Statements that lanes have no trouble with. */

void copied_f32(int n, float *restrict a, const float *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i];
}

void cleared_f64(int n, double *restrict a)
{
    for (int i = 0; i < n; i++)
        a[i] = 0;
}

void added_f32(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i] + c[i];
}

void triad_f64(int n, double x, double *restrict a, const double *restrict b, const double *restrict c)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i] + x * c[i];
}

void divided_f32(int n, float *restrict a, const float *restrict b, const float *restrict positive)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i] / positive[i];
}

void many_products_f32(int n, float *restrict a, const float *restrict b, const float *restrict c, const float *restrict d)
{
    for (int i = 0; i < n; i++)
        a[i] = d[i] + b[i] * c[i] + b[i] * d[i] + c[i] * d[i] + b[i] * c[i] * d[i];
}

void scaled_i32(int n, int *restrict a, const int *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i] * 7 + (b[i] >> 3);
}

void converted_f64(int n, double *restrict a, const int *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i] * 0.5;
}
