// Sums that stay in range as they are written, and not in another order; the least number has no opposite.
// taken: added taken_away both_ways chosen_differences growing in_two_terms
// sanitize
#include <limits.h>

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

#ifdef MAIN
#include <stdio.h>
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
    return 0;
}
#endif
