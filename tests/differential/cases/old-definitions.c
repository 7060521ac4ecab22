// taken: scale total spread
/* Definitions as C had them before 1989. */
#include <stdio.h>

void scale(n, x, by)
    int n;
    double *x, by;
{
    for (int i = 0; i < n; i++)
        x[i] *= by;
}

long total(buf, len)
    const unsigned char *buf; /* bytes */
    unsigned long len;
{
    long s = 0;
    while (len--)
        s += *buf++;
    return s;
}

int spread(rows, from) short (*rows)[8]; const short *from; {
    int s = 0;
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 8; j++) {
            rows[i][j] = from[i];
            s += from[i];
        }
    return s;
}

#ifdef MAIN
int main(void)
{
    double x[100];
    unsigned char bytes[1000];
    short rows[40][8], from[40];
    for (int i = 0; i < 100; i++)
        x[i] = i;
    for (int i = 0; i < 1000; i++)
        bytes[i] = (unsigned char)(i * 7);
    for (int i = 0; i < 40; i++)
        from[i] = (short)(i * i - 300);
    scale(99, x, 0.5);
    printf("%g %g\n", x[98], x[99]);
    printf("%ld %ld\n", total(bytes, 1000ul), total(bytes + 3, 5ul));
    int sum = spread(rows, from);
    printf("%d %d %d\n", sum, rows[39][7], rows[0][3]);
}
#endif
