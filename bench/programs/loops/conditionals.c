/* Statements under conditions on data. */

void added_where_positive(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++)
        if (b[i] > 0)
            a[i] += b[i] * c[i];
}

void chosen_f32(int n, float *restrict a, const float *restrict b, const float *restrict c, const float *restrict d)
{
    for (int i = 0; i < n; i++)
        if (b[i] > 0)
            a[i] = c[i] + d[i];
        else
            a[i] = c[i] * d[i];
}

void read_and_replaced(int n, float *restrict a, float *restrict b, const float *restrict c, const float *restrict d)
{
    for (int i = 0; i < n; i++) {
        a[i] = b[i] + c[i];
        if (a[i] < 0)
            b[i] = c[i] * d[i];
    }
}

void nested_conditions(int n, float *restrict a, float *restrict b, const float *restrict c, const float *restrict d)
{
    for (int i = 0; i < n; i++)
        if (a[i] < 0) {
            if (b[i] > a[i])
                a[i] += b[i] * d[i];
            b[i] += c[i];
        }
}

void stored_where_asked_i32(int n, int *restrict a, const int *restrict b)
{
    for (int i = 0; i < n; i++)
        if (b[i] > 10)
            a[i] = b[i];
}

void clipped_f32(int n, float *restrict a, const float *restrict b, float x, float y)
{
    for (int i = 0; i < n; i++) {
        float t = b[i];
        if (t < x)
            t = x;
        if (t > y)
            t = y;
        a[i] = t;
    }
}

void first_apart(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++) {
        if (i == 0)
            a[i] = b[i];
        else
            a[i] = b[i] - c[i - 1];
    }
}

void middle_apart(int n, int k, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++) {
        if (i < k)
            a[i] = b[i] * 2;
        else
            a[i] = b[i] * c[i];
    }
}

void flag_outside(int n, float x, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++) {
        if (x > 0)
            a[i] += b[i] * c[i];
        else
            a[i] += b[i];
    }
}

void even_and_odd(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++)
        if (i % 2 == 0)
            a[i] = b[i] + c[i];
        else
            a[i] = b[i] - c[i];
}

void three_ways(int n, float *restrict a, const float *restrict b, const float *restrict c, const float *restrict d)
{
    for (int i = 0; i < n; i++) {
        if (d[i] < -0.3f)
            a[i] += b[i] * c[i];
        else if (d[i] < 0.3f)
            a[i] += b[i] * b[i];
        else
            a[i] += c[i] * c[i];
    }
}

void switched_i32(int n, int *restrict a, const int *restrict small, const int *restrict c)
{
    for (int i = 0; i < n; i++) {
        switch (small[i]) {
        case 0: a[i] += c[i]; break;
        case 1: a[i] -= c[i]; break;
        case 2: a[i] += c[i] * c[i]; break;
        default: a[i] = 0; break;
        }
    }
}

void divided_where_safe(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++)
        if (c[i] != 0)
            a[i] = b[i] / c[i];
}

void magnitude_f64(int n, double *restrict a, const double *restrict b)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i] < 0 ? -b[i] : b[i];
}

void skipped_over(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++) {
        if (b[i] < 0)
            continue;
        a[i] = c[i] + b[i];
    }
}
