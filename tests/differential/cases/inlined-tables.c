// taken: sizes first rows masks
/* Tables of the file that only inlined functions name, of types with several names. */
#include <stdio.h>
#include <stdint.h>
static const uint8_t size_tab[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static const unsigned long long mask_tab[4] = {1, 256, 65536, 1ULL << 40};
static inline int size_of_code(int v) { return size_tab[v & 7]; }
static inline int at(int i) { return size_tab[i]; }
static inline unsigned long long mask(int i) { return mask_tab[i]; }

void sizes(int n, const int *restrict a, int *restrict b)
{
    for (int i = 0; i < n; i++)
        b[i] = size_of_code(a[i]);
}
void first(int n, int *restrict b)
{
    for (int i = 0; i < n; i++)
        b[i] += size_of_code(3);
}
void rows(int n, int *restrict b)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 8; j++)
            b[8 * i + j] += at(j);
}
void masks(int n, unsigned long long *restrict b)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 4; j++)
            b[4 * i + j] ^= mask(j);
}

#ifdef MAIN
int main(void)
{
    int a[100], b[100];
    unsigned long long c[100];
    for (int i = 0; i < 100; i++) {
        a[i] = i * i;
        c[i] = i;
    }
    sizes(100, a, b);
    first(100, b);
    rows(12, b);
    masks(25, c);
    long s = 0;
    unsigned long long t = 0;
    for (int i = 0; i < 100; i++) {
        s = s * 7 + b[i];
        s %= 1000003;
        t = t * 31 + c[i];
    }
    printf("%ld %llu\n", s, t);
    return 0;
}
#endif
