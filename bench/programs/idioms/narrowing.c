/* Narrowing with rounding and saturation, clamps, extrema, shifts. */
#include <stdint.h>

void saturate_s16_to_u8(int n, const int16_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] < 0 ? 0 : a[i] > 255 ? 255 : a[i];
}

void saturate_s16_to_s8(int n, const int16_t *restrict a, int8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] > 127 ? 127 : a[i] < -128 ? -128 : a[i];
}

void saturate_s32_to_s16(int n, const int32_t *restrict a, int16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int v = a[i];
        if (v > 32767)
            v = 32767;
        if (v < -32768)
            v = -32768;
        out[i] = v;
    }
}

void saturate_u16_to_u8(int n, const uint16_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] > 255 ? 255 : a[i];
}

void round_shift_saturate_s16_to_u8(int n, const int16_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int v = (a[i] + 32) >> 6;
        out[i] = v < 0 ? 0 : v > 255 ? 255 : v;
    }
}

void round_shift_saturate_s32_to_s16(int n, const int32_t *restrict a, int16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int v = (a[i] >> 12) + (a[i] >> 11 & 1);
        out[i] = v < -32768 ? -32768 : v > 32767 ? 32767 : v;
    }
}

void high_byte_u16(int n, const uint16_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] >> 8;
}

void low_byte_u16(int n, const uint16_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i];
}

void low_byte_u32(int n, const uint32_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i];
}

void widen_s8_to_s16(int n, const int8_t *restrict a, int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i];
}

void clamp_constants_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] < 16 ? 16 : a[i] > 235 ? 235 : a[i];
}

void clamp_bounds_s16(int n, const int16_t *restrict a, int16_t low, int16_t high, int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] < low ? low : a[i] > high ? high : a[i];
}

void minimum_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] < b[i] ? a[i] : b[i];
}

void maximum_if_s16(int n, const int16_t *restrict a, const int16_t *restrict b, int16_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int16_t m = a[i];
        if (b[i] > m)
            m = b[i];
        out[i] = m;
    }
}

void maximum_of_three_s8(int n, const int8_t *restrict a, int8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int m = a[i] > a[i + 1] ? a[i] : a[i + 1];
        out[i] = m > a[i + 2] ? m : a[i + 2];
    }
}

void relu_s8(int n, const int8_t *restrict a, int8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] > 0 ? a[i] : 0;
}

void shift_right_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] >> 3;
}

void shift_right_s8(int n, const int8_t *restrict a, int8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] >> 3;
}

void shift_left_u16(int n, const uint16_t *restrict a, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] << 5;
}

void shift_left_by_scalar_u16(int n, const uint16_t *restrict a, int by, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] << (by & 15);
}

void shift_right_by_scalar_s16(int n, const int16_t *restrict a, int by, int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] >> (by & 15);
}

void shift_right_by_lane_u16(int n, const uint16_t *restrict a, const uint16_t *restrict by, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] >> (by[i] & 15);
}

void shift_left_by_lane_u16(int n, const uint16_t *restrict a, const uint16_t *restrict by, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] << (by[i] & 15);
}

void scale_power_round_s16(int n, const int16_t *restrict a, int16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] + 8) >> 4;
}
