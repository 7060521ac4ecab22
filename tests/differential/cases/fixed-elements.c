// taken: pivot offsets first
// says: lanes along loop 1
/* One iteration alone stores what others read: an element in the middle, or the first. */
void pivot(int n, double *restrict p, const double *restrict q)
{
    for (int k = 0; k < n; k++)
        p[k] = p[20] * 0.5 + q[k];
}

int column[3000];
void offsets(const int *restrict w)
{
    for (int t = 0; t < 3000; t++)
        column[t] = column[1500] + w[t];
}

void first(short *restrict s, int from, int to)
{
    for (int t = to; t >= from; t--)
        s[t] = s[from] * 2 + t;
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static double p[99], q[99];
    static short s[99];
    static int w[3000];
    double sum = 0;
    unsigned long hash = 0;
    for (int n = 0; n <= 90; n += n < 25 ? 1 : 13) {
        for (int i = 0; i < 99; i++)
            p[i] = i * 7 % 11, q[i] = i * 5 % 13, s[i] = (short)(i * 3 % 17);
        pivot(n, p, q);
        first(s, n / 2, n);
        for (int i = 0; i < 99; i++)
            sum += p[i] * (i + 1), hash = hash * 31 + (unsigned short)s[i];
    }
    for (int i = 0; i < 3000; i++)
        w[i] = i * 11 % 71, column[i] = i;
    offsets(w);
    for (int i = 0; i < 3000; i++)
        hash = hash * 31 + (unsigned)column[i];
    printf("%.9g %lu\n", sum, hash);
    return 0;
}
#endif
