// taken: doubled weights offsets
/* Bounds that sizeof gives: of arrays, structures and members. */
#include <stdio.h>
struct point { float x, y; };
struct path { char kind; struct point at[3]; double length; };
static const int table[] = {3, 1, 4, 1, 5};

void doubled(float *y)
{
    float x[12];
    for (unsigned k = 0; k < sizeof(x) / sizeof(x[0]); k++)
        x[k] = y[k] + k;
    for (int k = 0; k < (int)(sizeof x / sizeof *x); k++)
        y[k] = x[k] * 2;
}

void weights(int *out)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        out[i] += table[i];
}

void offsets(int n, long *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (long)(i * sizeof(struct path));
}

void third(struct path *p, int *out)
{
    for (unsigned i = 0; i < sizeof(p->at) / sizeof(p->at[0]); i++)
        out[i] += 3;
}

#ifdef MAIN
int main(void)
{
    float y[12];
    int out[8] = {0};
    long where[20];
    struct path p;
    for (int i = 0; i < 12; i++)
        y[i] = i * 0.25f;
    doubled(y);
    weights(out);
    offsets(20, where);
    third(&p, out);
    printf("%g %g %d %d %d %d %ld\n", y[0], y[11], out[0], out[2], out[3], out[4], where[19]);
}
#endif
