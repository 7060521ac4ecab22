/* Loops with dependences at a fixed distance, most of which lanes may ignore. */

void from_next(int n, float *restrict a, const float *restrict b)
{
    for (int i = 0; i < n - 1; i++)
        a[i] = a[i + 1] + b[i];
}

void odd_from_even(int n, float *restrict a, const float *restrict b)
{
    for (int i = 1; i < n; i += 2)
        a[i] = a[i - 1] + b[i];
}

void backwards_from_before(int n, float *restrict a, const float *restrict b)
{
    for (int i = n - 2; i >= 0; i--)
        a[i + 1] = a[i] + b[i];
}

void first_to_all(int n, float *restrict a, const float *restrict b)
{
    for (int i = 1; i < n; i++)
        a[i] = a[0] + b[i];
}

void middle_to_all(int n, float *restrict a, const float *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = a[n / 2] + b[i];
}

void neighbours_unrolled(int n, float *restrict a)
{
    for (int i = 0; i < n - 5; i += 5) {
        a[i] = a[i + 1] - a[i];
        a[i + 1] = a[i + 2] - a[i + 1];
        a[i + 2] = a[i + 3] - a[i + 2];
        a[i + 3] = a[i + 4] - a[i + 3];
        a[i + 4] = a[i + 5] - a[i + 4];
    }
}

void eight_before(int n, float *restrict a, const float *restrict b)
{
    for (int i = 8; i < n; i++)
        a[i] = a[i - 8] * 0.5f + b[i];
}

void upper_from_lower_half(int n, int k, float *restrict a, const float *restrict b)
{
    for (int i = 0; i < n / 2; i++)
        a[i + k] = a[i] + b[i];
}

void strided_update(int n, int step, float *restrict a, const float *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i * step] += b[i];
}

void reversed_read_i32(int n, int *restrict a, const int *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = b[n - 1 - i] + 1;
}

void reversed_both_f64(int n, double *restrict a, const double *restrict b)
{
    for (int i = n - 1; i >= 0; i--)
        a[i] = b[i] * 2.0 + 1.0;
}

void every_second_f32(int n, float *restrict a, const float *restrict b)
{
    for (int i = 0; i < n / 2; i++)
        a[i] = b[2 * i] + b[2 * i + 1];
}

void every_third_f32(int n, float *restrict a, const float *restrict b)
{
    for (int i = 0; i < n / 3; i++)
        a[i] = b[3 * i] + 2 * b[3 * i + 1] + b[3 * i + 2];
}

void interleaved_f32(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n / 2; i++) {
        a[2 * i] = b[i] + c[i];
        a[2 * i + 1] = b[i] - c[i];
    }
}

void half_index_f32(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i] + c[i / 2];
}

void swapped_ends(int n, float *restrict a)
{
    for (int i = 0; i < n / 2; i++) {
        float t = a[i];
        a[i] = a[n - 1 - i];
        a[n - 1 - i] = t;
    }
}
