/* Values that follow from those before. */

void running_sum_f32(int n, float *restrict a, const float *restrict b)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        sum += b[i];
        a[i] = sum;
    }
}

void running_sum_i32(int n, int *restrict a, const int *restrict b)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += b[i];
        a[i] = sum;
    }
}

void running_highest_f32(int n, float *restrict a, const float *restrict b)
{
    float most = b[0];
    for (int i = 0; i < n; i++) {
        most = b[i] > most ? b[i] : most;
        a[i] = most;
    }
}

void first_order(int n, float *restrict a, const float *restrict b)
{
    for (int i = 1; i < n; i++)
        a[i] += a[i - 1] * b[i];
}

void smoothed(int n, float *restrict a, const float *restrict b)
{
    for (int i = 1; i < n; i++)
        a[i] = 0.9f * a[i - 1] + 0.1f * b[i];
}

void second_order(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 2; i < n; i++)
        a[i] += a[i - 1] * b[i] * 0.5f + a[i - 2] * c[i] * 0.25f;
}

void coupled_recurrence(int n, float *restrict a, float *restrict b, const float *restrict c, const float *restrict d)
{
    for (int i = 1; i < n; i++) {
        a[i] = b[i - 1] + c[i] * d[i];
        b[i] = a[i] * 0.5f + d[i];
    }
}

void added_before_i32(int n, int *restrict a, const int *restrict b)
{
    for (int i = 1; i < n; i++)
        a[i] = a[i - 1] + b[i];
}

float polynomial(int n, const float *restrict a)
{
    float value = 0;
    for (int i = 0; i < n; i++)
        value = value * 0.999f + a[i];
    return value;
}

unsigned hash_u32(int n, const unsigned *restrict a)
{
    unsigned hash = 2166136261u;
    for (int i = 0; i < n; i++)
        hash = hash * 31u + a[i];
    return hash;
}
