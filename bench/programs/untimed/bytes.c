#include <stdint.h>
void xor_bytes(int n, uint8_t *a, const uint8_t *k)
{
    for (int i = 0; i < n; i++)
        a[i] ^= k[i];
}
void to_upper(int n, char *s)
{
    for (int i = 0; i < n; i++)
        if (s[i] >= 'a' && s[i] <= 'z') s[i] -= 32;
}
void swap16(int n, const uint16_t *a, uint16_t *o)
{
    for (int i = 0; i < n; i++)
        o[i] = (uint16_t)(a[i] << 8 | a[i] >> 8);
}
void load_be32(int n, const uint8_t *p, uint32_t *o)
{
    for (int i = 0; i < n; i++)
        o[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
}
void nibbles(int n, const uint8_t *a, uint8_t *o)
{
    for (int i = 0; i < n; i++) {
        o[2 * i] = a[i] >> 4;
        o[2 * i + 1] = a[i] & 15;
    }
}
void add_saturated(int n, const uint8_t *a, const uint8_t *b, uint8_t *o)
{
    for (int i = 0; i < n; i++) {
        int s = a[i] + b[i];
        o[i] = s > 255 ? 255 : s;
    }
}
int count_byte(int n, const uint8_t *a, uint8_t v)
{
    int c = 0;
    for (int i = 0; i < n; i++)
        if (a[i] == v) c++;
    return c;
}
uint32_t adler_a(int n, const uint8_t *a)
{
    uint32_t s = 1;
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
void widen_u8_u32(int n, const uint8_t *a, uint32_t *o)
{
    for (int i = 0; i < n; i++)
        o[i] = a[i];
}
void narrow_i32_u8(int n, const int32_t *a, uint8_t *o)
{
    for (int i = 0; i < n; i++)
        o[i] = a[i] < 0 ? 0 : a[i] > 255 ? 255 : a[i];
}
void copy_backwards(int n, const int32_t *a, int32_t *o)
{
    for (int i = 0; i < n; i++)
        o[i] = a[n - 1 - i];
}
void set_every_third(int n, uint8_t *a)
{
    for (int i = 0; i < n; i++)
        a[3 * i] = 255;
}
