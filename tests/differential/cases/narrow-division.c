// taken: spread wrapped quarters third summed above back
/* Quotients and remainders of indices, which 32 bits hold or do not: the types are those of the parameters. */
void spread(int n, int *a)
{
    for (int i = 0; i < n; i++) {
        int k = i / 7;
        a[i] = k - i % 5;
    }
}
void wrapped(int n, int m, int *a)
{
    for (int i = 0; i < n; i++) {
        int k = i % m;
        a[i] = k;
    }
}
void quarters(unsigned first, unsigned last, unsigned *a)
{
    for (unsigned i = first; i < last; i++) {
        unsigned k = i / 9;
        a[i - first] = k + i % 6;
    }
}
void third(int first, int n, int by, long *a)
{
    for (int i = 0; i < n; i++) {
        long k = ((long)i + first) / 3 + ((long)first + i + by) / 11;
        a[i] = k;
    }
}
void summed(long first, long n, long m, long *a)
{
    for (long i = 0; i < n; i++) {
        long k = (first + i) % m;
        a[i] = k;
    }
}
void above(short n, unsigned char m, long *a)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            long k = (i * 255 + j) / 13;
            a[i * m + j] = k % 17;
        }
}
void back(int n, int *a)
{
    for (int i = n - 1; i >= 0; i--) {
        int k = (i - 40) / 3;
        a[i] = k + (i - 40) % 4;
    }
}

#ifdef MAIN
#include <limits.h>
#include <stdio.h>
static long hashed(long hash, long value)
{
    return (hash * 31 + value) % 1000003;
}
int main(void)
{
    static int a[200];
    static unsigned u[200];
    static long l[4000];
    long hash = 1;
    int sizes[] = {-3, 0, 1, 2, 7, 33, 99};
    for (int s = 0; s < 7; s++) {
        int n = sizes[s];
        spread(n, a);
        for (int i = 0; i < n; i++)
            hash = hashed(hash, a[i]);
        wrapped(n, 7, a);
        if (n > 0)
            wrapped(n, n, a);
        for (int i = 0; i < n; i++)
            hash = hashed(hash, a[i]);
        back(n, a);
        for (int i = 0; i < n; i++)
            hash = hashed(hash, a[i]);
        unsigned lows[] = {0, 5, 2147483640u, 4294967295u - 120};
        for (int k = 0; k < 4; k++) {
            quarters(lows[k], lows[k] + (n > 0 ? n : 0), u);
            for (int i = 0; i < n; i++)
                hash = hashed(hash, u[i]);
        }
        int firsts[] = {0, 1, INT_MAX - 3, INT_MAX, -5};
        for (int k = 0; k < 5; k++) {
            third(firsts[k], n, INT_MAX, l);
            for (int i = 0; i < n; i++)
                hash = hashed(hash, l[i]);
            if (firsts[k] >= 0) {
                summed(firsts[k] * 4096L, n, 4294967299L, l);
                for (int i = 0; i < n; i++)
                    hash = hashed(hash, l[i]);
            }
        }
        above(n, 31, l);
        for (int i = 0; i < 31 * n; i++)
            hash = hashed(hash, l[i]);
        printf("%ld\n", hash);
    }
    return 0;
}
#endif
