// taken: sizes first rows masks visible inside
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

/* Names of the file that mean something else where the loop stands: nothing there can spell what is called for. */
static int step = 3;
static struct { int by; int at[8]; } moves = {2, {8, 7, 6, 5, 4, 3, 2, 1}};
static inline int stepped(int i) { return i * step; }
static inline int moved(int i) { return moves.at[i & 7] * moves.by; }

void hidden_by_parameter(int n, const int *restrict size_tab, int *restrict b)
{
    for (int i = 0; i < n; i++)
        b[i] += size_of_code(size_tab[i]);
}
void hidden_by_result(int n, double *restrict size_tab)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 8; j++)
            size_tab[i] += at(j);
}
void hidden_by_number(int n, int step, int *restrict b)
{
    for (int i = 0; i < n; i++)
        b[i] += stepped(i) + step;
}
void hidden_by_local(int n, int *restrict b)
{
    static int size_tab[8] = {1, 1, 1, 1, 1, 1, 1, 5};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 8; j++)
            b[i] += at(j) - size_tab[j];
    size_tab[0]++;
}
void hidden_by_enumerator(int n, int *restrict b)
{
    enum { step = 5 };
    for (int i = 0; i < n; i++)
        b[i] += stepped(i) + step;
}
void hidden_structure(int n, int *restrict moves)
{
    for (int i = 0; i < n; i++)
        moves[i] += moved(i);
}
void visible(int n, int *restrict b, const int *restrict moves_at)
{
    for (int i = 0; i < n; i++)
        b[i] += moved(i) + moves_at[i];
}
void inside(int n, int *restrict b)
{
    for (int i = 0; i < n; i++) {
        short size_tab[8];
        for (int j = 0; j < 8; j++)
            size_tab[j] = j + i;
        for (int j = 0; j < 8; j++)
            b[i] += size_tab[j] * at(j);
    }
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
    double d[100] = {0};
    hidden_by_parameter(100, a, b);
    hidden_by_result(100, d);
    hidden_by_number(100, 5, b);
    hidden_by_local(99, b);
    hidden_by_local(98, b);
    hidden_by_enumerator(97, b);
    hidden_structure(96, b);
    visible(95, b, a);
    inside(94, b);
    long s = 0;
    unsigned long long t = 0;
    for (int i = 0; i < 100; i++) {
        s = s * 7 + b[i];
        s %= 1000003;
        t = t * 31 + c[i];
    }
    printf("%ld %llu %g\n", s, t, d[0] + d[99]);
    return 0;
}
#endif
