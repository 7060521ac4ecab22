/* Products: high halves, sums of two and of four, scaled, blended, complex. */
#include <stdint.h>

void high_half_s16(int n, const int16_t *restrict a, const int16_t *restrict b, int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] * b[i] >> 16;
}

void high_half_u16(int n, const uint16_t *restrict a, const uint16_t *restrict b, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (uint32_t)a[i] * b[i] >> 16;
}

void fraction_rounded_s16(int n, const int16_t *restrict a, const int16_t *restrict b, int16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int p = (a[i] * b[i] + (1 << 14)) >> 15;
        out[i] = p > 32767 ? 32767 : p;
    }
}

void fraction_s16(int n, const int16_t *restrict a, const int16_t *restrict b, int16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int p = a[i] * b[i] >> 15;
        out[i] = p > 32767 ? 32767 : p;
    }
}

void fraction_by_constant_s16(int n, const int16_t *restrict a, int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] * 23170 + 16384) >> 15;
}

void multiply_low_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] * b[i];
}

void multiply_long_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] * b[i];
}

void multiply_long_s16(int n, const int16_t *restrict a, const int16_t *restrict b, int32_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] * b[i];
}

void multiply_scaled_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] * b[i] + 128) >> 8;
}

void multiply_add_s16(int n, const int16_t *restrict a, const int16_t *restrict b, const int16_t *restrict c,
                      int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] * b[i] + c[i];
}

void multiply_add_long_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, const uint16_t *restrict c,
                          uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] * b[i] + c[i];
}

void multiply_add_long_s16(int n, const int16_t *restrict a, const int16_t *restrict b, const int32_t *restrict c,
                           int32_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] * b[i] + c[i];
}

void dot2_s16(int n, const int16_t *restrict a, const int16_t *restrict b, int32_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
}

void dot2_of_two_rows_s16(int n, const int16_t *restrict a, const int16_t *restrict b, int p, int q,
                          int32_t *restrict out)
{
    int16_t u = p, v = q;
    for (int i = 0; i < n; i++)
        out[i] = a[i] * u + b[i] * v;
}

void dot2_constants_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = 5 * a[i] - 3 * b[i];
}

void dot4_u8_s8(int n, const uint8_t *restrict a, const int8_t *restrict b, const int32_t *restrict c,
                int32_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = c[i] + a[4 * i] * b[4 * i] + a[4 * i + 1] * b[4 * i + 1] + a[4 * i + 2] * b[4 * i + 2] +
                 a[4 * i + 3] * b[4 * i + 3];
}

void dot4_s8_s8(int n, const int8_t *restrict a, const int8_t *restrict b, const int32_t *restrict c,
                int32_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int s = c[i];
        for (int k = 0; k < 4; k++)
            s += a[4 * i + k] * b[4 * i + k];
        out[i] = s;
    }
}

void dot4_u8_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, const uint32_t *restrict c,
                uint32_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        uint32_t s = c[i];
        for (int k = 0; k < 4; k++)
            s += a[4 * i + k] * b[4 * i + k];
        out[i] = s;
    }
}

void third_u16(int n, const uint16_t *restrict a, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] / 3;
}

void third_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] / 3;
}

void by_255_u16_to_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] * b[i] / 255;
}

void blend_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, const uint8_t *restrict alpha,
              uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] * alpha[i] + b[i] * (255 - alpha[i]) + 127) / 255;
}

void blend_by_scalar_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t alpha,
                        uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] * alpha + b[i] * (256 - alpha)) >> 8;
}

void complex_product_s16(int n, const int16_t *restrict a, const int16_t *restrict b, int16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        out[2 * i] = (a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1]) >> 15;
        out[2 * i + 1] = (a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i]) >> 15;
    }
}
