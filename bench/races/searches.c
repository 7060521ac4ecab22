/* Loops that end early, of several types: where they end is what they are for. */
#include <stddef.h>
#include <stdint.h>

typedef struct { float x, y; } point;
typedef struct { int32_t key, kind; int64_t when; } event;

ptrdiff_t find_byte(ptrdiff_t n, const uint8_t *s, const uint8_t *t)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (s[i] == 10)
            return i;
    return -1;
}

ptrdiff_t first_difference(ptrdiff_t n, const uint8_t *s, const uint8_t *t)
{
    ptrdiff_t i = 0;
    while (i < n && s[i] == t[i])
        i++;
    return i;
}

ptrdiff_t skip_blanks(ptrdiff_t n, const uint8_t *s, const uint8_t *t)
{
    ptrdiff_t i;
    for (i = 0; i < n; i++) {
        uint8_t c = s[i];
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
            break;
    }
    return i;
}

ptrdiff_t is_ascii(ptrdiff_t n, const uint8_t *s, const uint8_t *t)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (s[i] & 0x80)
            return 0;
    return 1;
}

ptrdiff_t find_any_of(ptrdiff_t n, const uint8_t *s, const uint8_t *t)
{
    const uint8_t *p = s, *end = s + n;
    while (p < end && *p != '"' && *p != '\\' && *p >= 0x20)
        p++;
    return p - s;
}

ptrdiff_t first_above_i32(ptrdiff_t n, const int32_t *s, const int32_t *t)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (s[i] > 5)
            return i;
    return -1;
}

ptrdiff_t is_sorted_i32(ptrdiff_t n, const int32_t *s, const int32_t *t)
{
    for (ptrdiff_t i = 1; i < n; i++)
        if (s[i - 1] > s[i])
            return 0;
    return 1;
}

ptrdiff_t out_of_range_f32(ptrdiff_t n, const float *s, const float *t)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!(s[i] >= -2.0f && s[i] <= 2.0f))
            return i;
    return -1;
}

ptrdiff_t far_apart_f64(ptrdiff_t n, const double *s, const double *t)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double d = s[i] - t[i];
        if (d > 0.5 || d < -0.5)
            return i;
    }
    return -1;
}

ptrdiff_t last_of_i64(ptrdiff_t n, const int64_t *s, const int64_t *t)
{
    ptrdiff_t i;
    for (i = n - 1; i >= 0; i--)
        if (s[i] == 9)
            break;
    return i;
}

ptrdiff_t find_point(ptrdiff_t n, const point *s, const point *t)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (s[i].x == 9.0f && s[i].y == 9.0f)
            return i;
    return -1;
}

ptrdiff_t sum_until_f32(ptrdiff_t n, const float *s, float *t)
{
    ptrdiff_t i;
    float sum = 0;
    for (i = 0; i < n; i++) {
        if (s[i] > 5)
            break;
        sum += s[i];
    }
    t[0] = sum;
    return i;
}

ptrdiff_t copy_until_u8(ptrdiff_t n, const uint8_t *s, uint8_t *t)
{
    ptrdiff_t i;
    for (i = 0; i < n; i++) {
        if (s[i] == 10)
            break;
        t[i] = s[i];
    }
    return i;
}
