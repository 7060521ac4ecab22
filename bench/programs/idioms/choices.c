/* Values that are chosen by a comparison. */
#include <stdint.h>
#include <stdlib.h>

void threshold_u8(int n, const uint8_t *restrict a, uint8_t t, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] > t ? 255 : 0;
}

void threshold_constant_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] >= 100 ? 255 : 0;
}

void threshold_if_s16(int n, const int16_t *restrict a, int16_t t, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        if (a[i] < t)
            out[i] = 0xffff;
        else
            out[i] = 0;
    }
}

void threshold_high_u8(int n, const uint8_t *restrict a, uint8_t t, uint8_t high, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] > t ? high : 0;
}

void threshold_to_zero_u8(int n, const uint8_t *restrict a, uint8_t t, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] > t ? a[i] : 0;
}

void threshold_truncated_u8(int n, const uint8_t *restrict a, uint8_t t, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] > t ? t : a[i];
}

void in_range_u8(int n, const uint8_t *restrict a, uint8_t low, uint8_t high, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = low <= a[i] && a[i] <= high ? 255 : 0;
}

void select_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t t, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        uint8_t x = a[i], y = b[i];
        out[i] = x > t ? y : x;
    }
}

void select_s16(int n, const int16_t *restrict a, const int16_t *restrict b, const int16_t *restrict c,
                int16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int16_t x = b[i], y = c[i];
        if (a[i] > 0)
            y = x;
        out[i] = y;
    }
}

void select_equal_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t old, uint8_t new,
                     uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        uint8_t y = b[i];
        out[i] = a[i] == old ? new : y;
    }
}

void select_u16_by_u8(int n, const uint8_t *restrict m, const uint16_t *restrict a, const uint16_t *restrict b,
                      uint16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        uint16_t x = a[i], y = b[i];
        out[i] = m[i] ? x : y;
    }
}

void select_u8_by_s16(int n, const int16_t *restrict m, const uint8_t *restrict a, const uint8_t *restrict b,
                      uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        uint8_t x = a[i], y = b[i];
        out[i] = m[i] < 0 ? x : y;
    }
}

void mask_bits_u8(int n, const uint8_t *restrict a, const uint8_t *restrict m, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = m[i] & 4 ? a[i] & 0xfe : a[i] & 0xfe | 1;
}

void compare_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] > b[i];
}

void not_equal_u16(int n, const uint16_t *restrict a, const uint16_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] != b[i] ? 255 : 0;
}

void close_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t t, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = abs(a[i] - b[i]) <= t ? 255 : 0;
}

void sign_s16(int n, const int16_t *restrict a, int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] > 0) - (a[i] < 0);
}

void leaky_s16(int n, const int16_t *restrict a, int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] >= 0 ? a[i] : a[i] >> 3;
}

void add_where_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, const uint8_t *restrict m,
                  uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        uint8_t x = a[i], y = b[i];
        out[i] = m[i] ? x + y : x;
    }
}

void count_where_u16(int n, const uint8_t *restrict a, uint8_t t, const uint16_t *restrict c, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = c[i] + (a[i] > t);
}
