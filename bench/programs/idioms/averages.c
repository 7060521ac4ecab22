/* Averages, rounded and rounded down, of two and of four. */
#include <stdint.h>

void average_rounded_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] + b[i] + 1) >> 1;
}

void average_rounded_u16(int n, const uint16_t *restrict a, const uint16_t *restrict b, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] + b[i] + 1) / 2;
}

void average_rounded_s8(int n, const int8_t *restrict a, const int8_t *restrict b, int8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] + b[i] + 1) >> 1;
}

void average_down_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] + b[i]) / 2;
}

void average_down_s16(int n, const int16_t *restrict a, const int16_t *restrict b, int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] + b[i]) >> 1;
}

void average_of_four_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] + a[i + 1] + b[i] + b[i + 1] + 2) >> 2;
}
