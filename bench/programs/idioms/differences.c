/* Absolute values and differences. */
#include <stdint.h>
#include <stdlib.h>

void abs_difference_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = abs(a[i] - b[i]);
}

void abs_difference_chosen_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
}

void abs_difference_u16(int n, const uint16_t *restrict a, const uint16_t *restrict b, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] >= b[i] ? a[i] - b[i] : b[i] - a[i];
}

void abs_difference_s8(int n, const int8_t *restrict a, const int8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = abs(a[i] - b[i]);
}

void abs_difference_s16(int n, const int16_t *restrict a, const int16_t *restrict b, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int d = a[i] - b[i];
        out[i] = d < 0 ? -d : d;
    }
}

void abs_s8(int n, const int8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = abs(a[i]);
}

void abs_s16(int n, const int16_t *restrict a, int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] < 0 ? -a[i] : a[i];
}

void abs_gradient_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = abs(a[i + 2] - a[i]);
}

void abs_difference_added_u16(int n, const uint8_t *restrict a, const uint8_t *restrict b, const uint16_t *restrict c,
                              uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = c[i] + abs(a[i] - b[i]);
}

void gradient_magnitude_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int m = abs(a[i + 1] - a[i]) + abs(b[i] - a[i]);
        out[i] = m > 255 ? 255 : m;
    }
}
