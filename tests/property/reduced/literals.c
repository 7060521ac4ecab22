/* Literals in all spellings; that of a hexadecimal float ended in an internal error. */
#include <stdio.h>

void spell(int n, float *f, double *d, unsigned long *u)
{
    for (int i = 0; i < n; i++) {
        f[i] = 0x1p-3f + 1e3f + .5f + 3.F;
        d[i] = 0x1.8p+1 + 0X.8P0 + 1.E-2 + 0x1FP-2f;
        u[i] = 010 + '\n' + 0x1F + 0XffUL + 1ull + '\'' + 0b11;
    }
}

void other(int n, double *d)
{
    for (int i = 0; i < n; i++)
        d[i] = 1.5f16 + 2.0L;
    for (int i = 0; i < n; i++)
        d[i] += 3e39f > 1.0;
}

int main(void)
{
    float f[5] = {0};
    double d[5] = {0};
    unsigned long u[5] = {0};
    spell(3, f, d, u);
    printf("f f 1 %.9g 100 0\nd d 1 %.17g 100 0\ni u %lu\n", f[2], d[2], u[2]);
    other(2, d);
    printf("d d 2 %.17g 100 0\n", d[1]);
    return 0;
}
