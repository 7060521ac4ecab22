/* Sums and differences that saturate. */
#include <stdint.h>

void add_saturated_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int s = a[i] + b[i];
        out[i] = s > 255 ? 255 : s;
    }
}

void add_saturated_if_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        unsigned s = a[i] + b[i];
        if (s > 255)
            s = 255;
        out[i] = s;
    }
}

void add_saturated_u16(int n, const uint16_t *restrict a, const uint16_t *restrict b, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int s = a[i] + b[i];
        out[i] = s < 65535 ? s : 65535;
    }
}

void add_saturated_s8(int n, const int8_t *restrict a, const int8_t *restrict b, int8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int s = a[i] + b[i];
        out[i] = s > 127 ? 127 : s < -128 ? -128 : s;
    }
}

void add_saturated_s16(int n, const int16_t *restrict a, const int16_t *restrict b, int16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int s = a[i] + b[i];
        if (s > 32767)
            s = 32767;
        else if (s < -32768)
            s = -32768;
        out[i] = s;
    }
}

void subtract_saturated_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] > b[i] ? a[i] - b[i] : 0;
}

void subtract_saturated_u16(int n, const uint16_t *restrict a, const uint16_t *restrict b, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int d = a[i] - b[i];
        out[i] = d < 0 ? 0 : d;
    }
}

void subtract_saturated_s16(int n, const int16_t *restrict a, const int16_t *restrict b, int16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int d = a[i] - b[i];
        out[i] = d < -32768 ? -32768 : d > 32767 ? 32767 : d;
    }
}

void add_constant_saturated_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] + 40 > 255 ? 255 : a[i] + 40;
}
