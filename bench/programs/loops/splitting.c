/* Loops that want to be distributed, split or reordered before they have lanes. */

void recurrence_beside_lanes(int n, float *restrict a, float *restrict b, const float *restrict c, const float *restrict d)
{
    for (int i = 1; i < n; i++) {
        a[i] += c[i] * d[i];
        b[i] = b[i - 1] * 0.5f + a[i] + d[i];
    }
}

void read_before_written(int n, float *restrict a, float *restrict b, const float *restrict c, const float *restrict d)
{
    for (int i = 0; i < n - 1; i++) {
        a[i] *= c[i];
        b[i] += a[i + 1] * d[i];
    }
}

void statements_in_wrong_order(int n, float *restrict a, float *restrict b, const float *restrict c, const float *restrict d)
{
    for (int i = 1; i < n - 1; i++) {
        a[i] = b[i - 1] + c[i] * d[i];
        b[i] = b[i + 1] - c[i] * d[i];
    }
}

void both_neighbours(int n, float *restrict a, float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n - 1; i++) {
        a[i] = b[i] * c[i];
        b[i] = a[i] + a[i + 1] * c[i];
    }
}

void written_twice(int n, float *restrict a, float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n - 1; i++) {
        a[i] = b[i] + c[i] * 2;
        b[i] = c[i] + b[i];
        a[i + 1] = b[i] + a[i + 1] * c[i];
    }
}

void expanded_scalar(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    float s;
    for (int i = 0; i < n; i++) {
        s = b[i] * c[i];
        a[i] = s * s;
    }
}

void scalar_from_before(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    float t = 0;
    for (int i = 0; i < n; i++) {
        float s = b[i] * c[i];
        a[i] = s + t;
        t = s;
    }
}

void scalar_under_condition(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    float s;
    for (int i = 0; i < n; i++) {
        if (b[i] > 0)
            s = b[i];
        else
            s = c[i] * 2;
        a[i] = s * c[i];
    }
}

void crossed_middle(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++)
        a[i] = a[n - i - 1] + b[i] * c[i];
}

void swapped_arrays(int n, float *restrict a, float *restrict b)
{
    for (int i = 0; i < n; i++) {
        float t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

void unrolled_saxpy(int n, float x, float *restrict a, const float *restrict b)
{
    for (int i = 0; i < n - 4; i += 5) {
        a[i] += x * b[i];
        a[i + 1] += x * b[i + 1];
        a[i + 2] += x * b[i + 2];
        a[i + 3] += x * b[i + 3];
        a[i + 4] += x * b[i + 4];
    }
}

float unrolled_dot(int n, const float *restrict a, const float *restrict b)
{
    float dot = 0;
    for (int i = 0; i < n - 4; i += 5)
        dot += a[i] * b[i] + a[i + 1] * b[i + 1] + a[i + 2] * b[i + 2] + a[i + 3] * b[i + 3] + a[i + 4] * b[i + 4];
    return dot;
}

static float shifted_product(float u, float v)
{
    return u * v + 1.0f;
}

void by_function(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++)
        a[i] += shifted_product(b[i], c[i]);
}

void filtered_by_four(int n, float *restrict a, const float *restrict b)
{
    for (int i = 0; i < n - 3; i++)
        a[i] = b[i] * 0.1f + b[i + 1] * 0.4f + b[i + 2] * 0.4f + b[i + 3] * 0.1f;
}

void widened_i16(int n, int *restrict a, const short *restrict b, const short *restrict c)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i] * c[i];
}
