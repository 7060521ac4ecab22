// slow
// taken: dot scaled hash filled longest
// tolerance: 1e-6
// sanitize
/* Pointers that walk to another one: of a parameter, in a structure; ends within an element, and none to walk. */
#include <stddef.h>
#include <stdint.h>
struct point { float x, y; int used; };
struct part { struct point *first, *last; };

long dot(const short *p, const short *end, const short *q)
{
    long s = 0;
    for (; p != end; ++p, ++q)
        s += *p * *q;
    return s;
}

void scaled(float *from, float *to, float f)
{
    while (from < to)
        *from++ *= f;
}

unsigned hash(const unsigned char *s, const unsigned char *e)
{
    unsigned h = 5381;
    while (s < e)
        h = h * 33 + *s++;
    return h;
}

void filled(int *begin, int *end, int v)
{
    int *q = begin;
    do {
        *q = v;
        q += 2;
    } while (q < end);
}

uint64_t longest(const uint32_t *p, const uint32_t *end, uint32_t *out)
{
    uint64_t s = 0;
    while (end > p) {
        s += *p;
        *out++ = *p++ + 1;
    }
    return s;
}

float energy(const struct part *part)
{
    float s = 0;
    for (const struct point *p = part->first; p != part->last; p++)
        s += p->x * p->x + p->y * p->y;
    return s;
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static short a[999], b[999]; static float f[300]; static unsigned char c[400]; static int d[100]; static uint32_t u[120], v[120]; static struct point p[60];
    uint64_t h = 0; double s = 0;
    for (int i = 0; i < 999; i++) { a[i] = (short)(i * 71); b[i] = (short)(i * 13 - 5000); }
    for (int i = 0; i < 300; i++) f[i] = i % 19;
    for (int i = 0; i < 400; i++) c[i] = (unsigned char)(i * 7);
    for (int i = 0; i < 120; i++) u[i] = (uint32_t)(i * 2654435761u);
    for (int i = 0; i < 60; i++) { p[i].x = i % 7; p[i].y = i % 5; p[i].used = i; }
    h = (uint64_t)(dot(a, a + 999, b) + dot(a, a, b) + dot(a + 3, a + 40, a));
    scaled(f, f + 300, 0.5f); scaled(f + 9, f + 9, 3); scaled(f + 9, f + 3, 3); scaled(0, 0, 3);
    for (int n = 0; n < 70; n++) h = h * 31 + hash(c + n, c + 3 * n);
    filled(d, d + 99, 5); filled(d + 50, d + 50, 7); filled(d + 60, d + 40, 9);
    for (int n = 0; n < 100; n++) h = h * 31 + longest(u + 1, u + 1 + n, n % 3 ? v : u + 2);
    struct part all = { p, p + 60 }, none = { p, p };
    s += energy(&all) + energy(&none);
    for (int i = 0; i < 300; i++) s += f[i] * (i % 7);
    for (int i = 0; i < 120; i++) h = h * 31 + u[i] + v[i];
    for (int i = 0; i < 100; i++) h = h * 31 + (uint64_t)d[i];
    printf("%llu %.7g\n", (unsigned long long)h, s);
    return 0;
}
#endif
