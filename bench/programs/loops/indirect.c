/* Places that are read from other arrays. */

void gathered_f32(int n, float *restrict a, const float *restrict b, const int *restrict index)
{
    for (int i = 0; i < n; i++)
        a[i] = b[index[i]];
}

void gathered_saxpy_f32(int n, float x, float *restrict a, const float *restrict b, const int *restrict index)
{
    for (int i = 0; i < n; i++)
        a[i] += x * b[index[i]];
}

float gathered_dot_f32(int n, const float *restrict a, const float *restrict b, const int *restrict index)
{
    float dot = 0;
    for (int i = 0; i < n; i++)
        dot += a[i] * b[index[i]];
    return dot;
}

double gathered_sum_f64(int n, const double *restrict a, const int *restrict index)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[index[i]];
    return sum;
}

void scattered_f32(int n, float *restrict a, const float *restrict b, const float *restrict c, const int *restrict index)
{
    for (int i = 0; i < n; i++)
        a[index[i]] = b[i] + c[i];
}

void table_i32(int n, int *restrict a, const int *restrict small, const int *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = b[small[i]];
}
