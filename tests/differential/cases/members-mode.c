// taken: apply count
/* What is done depends on an enumeration and on bit-fields in a structure. */
enum mode { KEEP, NEGATE = 3, TWICE };
typedef struct { enum mode mode; unsigned shift : 4; signed low : 5; _Bool on : 1; short add; } setting;

void apply(int n, int *restrict out, const short *restrict in, setting s)
{
    for (int i = 0; i < n; i++) {
        int v = in[i] >> s.shift;
        out[i] = s.mode == NEGATE ? s.add - v : s.mode == TWICE ? 2 * v : v;
    }
}

int count(setting s, int n, const int *a)
{
    int found = 0;
    for (int i = 0; i < n; i++)
        found += (a[i] > s.low - 1) == s.on;
    return found;
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static short a[300]; static int b[300]; unsigned h = 0; int found = 0;
    for (int i = 0; i < 300; i++) a[i] = (short)(i * 331 - 9000);
    for (int k = 0; k < 6; k++) {
        setting s = { (enum mode)k, (unsigned)k * 2, k * 5 - 15, k % 2 == 0, (short)(100 - k * 90) };
        apply(300, b, a, s);
        for (int i = 0; i < 300; i++) h = h * 31 + (unsigned)b[i];
        found += count(s, 300, b);
    }
    printf("%u %d\n", h, found);
    return 0;
}
#endif
