// Sums that stay in range as they are written, and not in another order; the least number has no opposite.
// Products of sizes that wrap around: loops up to them have few iterations.
// taken: added taken_away both_ways chosen_differences growing in_two_terms of_two_sizes of_wide_sizes between of_three
// sanitize
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

void added(int n, const int *a, int *count) { for (int i = 0; i < n; i++) if (a[i] > 9) *count += a[i]; }

void taken_away(int n, const int *a, const int *x, int *count)
{
    for (int i = 0; i < n; i++)
        if (a[i] > 9)
            *count -= x[i];
}

long long both_ways(int n, const long long *x)
{
    long long s = -1;
    for (int i = 0; i < n; i++)
        s -= x[i];
    return s;
}

int chosen_differences(int n, const int *a, const int *x)
{
    int s = -1;
    for (int i = 0; i < n; i++)
        if (a[i] > 10)
            s += x[i];
        else
            s -= x[i];
    return s;
}

void growing(int n, const int *x, int *y)
{
    int s = -1;
    for (int i = 0; i < n; i++) {
        s -= x[i];
        y[i] = s;
    }
}

int in_two_terms(int n, const int *x)
{
    int s = -1;
    for (int i = 0; i + 1 < n; i += 2)
        s = s - x[i] - x[i + 1];
    return s;
}

void of_two_sizes(unsigned rows, unsigned columns, int *y, const int *x)
{
    for (unsigned i = 0; i < rows * columns; i++)
        y[i] = x[i] / 2;
}

void of_wide_sizes(size_t rows, size_t columns, int *y, const int *x)
{
    for (size_t i = 0; i < rows * columns; i++)
        y[i] = x[i] / 2;
}

void between(uint64_t c, uint64_t w, int *y, const int *x)
{
    for (uint64_t i = c; i < w * c - c; i++)
        y[i] = x[i] / 2 - x[i - c] / 2;
}

void of_three(unsigned w, unsigned c, unsigned e, int *y, const int *x)
{
    for (unsigned i = 1; i < w * c * e; i++)
        y[i] = x[i] / 2 - x[i - 1] / 2;
}

#ifdef MAIN
#include <stdio.h>
static void stored(int *y)
{
    int count = 0;
    for (int i = 0; i < 9000; i++) {
        count += y[i] != -7777;
        y[i] = -7777;
    }
    printf("%d ", count);
}

static void products(void)
{
    static int x[9000], y[9000];
    uint64_t part = 101; /* times 101 it is 1, as it is at the end */
    for (int i = 0; i < 7; i++)
        part *= 2 - 101 * part;
    for (int i = 0; i < 9000; i++)
        x[i] = 5 * i % 9000 + 20;
    stored(y);
    of_two_sizes(100, 70, y, x), stored(y);
    of_two_sizes(UINT_MAX, UINT_MAX, y, x), stored(y);
    of_two_sizes((unsigned)part * 70, 101, y, x), stored(y);
    of_wide_sizes(100, 70, y, x), stored(y);
    of_wide_sizes((size_t)part * 70, 101, y, x), stored(y);
    of_wide_sizes((size_t)1 << (sizeof(size_t) * 8 - 4), 16, y, x), stored(y);
    between(3, 1000, y, x), stored(y);
    between(101, part * 7000, y, x), stored(y);
    of_three(10, 20, 30, y, x), stored(y);
    of_three(65536, 65536, 100, y, x), stored(y);
    of_three((unsigned)part * 7000, 101, 1, y, x), stored(y);
    of_three(1u << 31, 2, 1u << 31, y, x), stored(y);
}

int main(void)
{
    static const int steps[] = {INT_MIN, INT_MAX, 1};
    static int a[198], x[198], y[198], large[198] = {INT_MAX, 6};
    static long long w[198];
    for (int i = 0; i < 198; i++) {
        a[i] = 10;
        x[i] = steps[i % 3];
        w[i] = i % 3 == 0 ? LLONG_MIN : i % 3 == 1 ? LLONG_MAX : 1;
    }
    int most = -7, count = -1;
    added(198, large, &most);
    large[1] = 11;
    count = -20;
    added(198, large, &count);
    printf("%d %d ", most, count);
    count = -1;
    taken_away(198, a, x, &count);
    growing(198, x, y);
    printf("%d %lld %d %d %d %d %d\n", count, both_ways(198, w), chosen_differences(198, a, x), y[0], y[1], y[197],
           in_two_terms(198, x));
    products();
    return 0;
}
#endif
