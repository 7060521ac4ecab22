/* Bits and bytes: counts, swaps, rotations, tables. */
#include <stdint.h>

void popcount_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = __builtin_popcount(a[i]);
}

void popcount_by_hand_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        int x = a[i];
        x = (x & 0x55) + (x >> 1 & 0x55);
        x = (x & 0x33) + (x >> 2 & 0x33);
        out[i] = (x & 0x0f) + (x >> 4);
    }
}

void swap_bytes_u16(int n, const uint16_t *restrict a, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (uint16_t)(a[i] << 8) | a[i] >> 8;
}

void swap_bytes_u32(int n, const uint32_t *restrict a, uint32_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] << 24 | (a[i] & 0xff00) << 8 | (a[i] >> 8 & 0xff00) | a[i] >> 24;
}

void swap_nibbles_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] << 4 | a[i] >> 4;
}

void rotate_u16(int n, const uint16_t *restrict a, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] << 3 | a[i] >> 13;
}

void reverse_bits_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        uint8_t x = a[i];
        x = (uint8_t)(x << 4) | x >> 4;
        x = (uint8_t)((x & 0x33) << 2) | (x >> 2 & 0x33);
        x = (uint8_t)((x & 0x55) << 1) | (x >> 1 & 0x55);
        out[i] = x;
    }
}

void gray_code_u16(int n, const uint16_t *restrict a, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] ^ a[i] >> 1;
}

void merge_bits_u8(int n, const uint8_t *restrict a, const uint8_t *restrict b, const uint8_t *restrict m,
                   uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (a[i] & m[i]) | (b[i] & ~m[i]);
}

void table16_u8(int n, const uint8_t *restrict a, const uint8_t table[restrict static 16], uint8_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = table[a[i] & 15];
}

void constant_table16_u8(int n, const uint8_t *restrict a, uint8_t *restrict out)
{
    static const uint8_t digits[16] = "0123456789abcdef";
    for (int i = 0; i < n; i++)
        out[i] = digits[a[i] >> 4];
}

void crc_step_u16(int n, const uint16_t *restrict a, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] & 1 ? a[i] >> 1 ^ 0xa001 : a[i] >> 1;
}
