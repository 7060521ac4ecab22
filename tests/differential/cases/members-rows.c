// taken: drift multiply areas mass
// tolerance: 1e-6
// sanitize
/* Arrays of structures: by index, by addresses that walk, nested, of several types; also where they overlap, and where an
   attribute changes where members lie. */
struct particle { float x[3], v[3], mass; int kind; };
struct box { int count; float step, drag; };
typedef struct { double re, im; } complex_;
struct node { unsigned char id; struct { short w, h; } size; long total; };
struct __attribute__((packed)) tight { char tag; int value; short rest; };

void drift(const struct box *b, struct particle *p)
{
    for (int i = 0; i < b->count; i++)
        for (int k = 0; k < 3; k++)
            p[i].x[k] += b->step * p[i].v[k];
}

void multiply(int n, complex_ *c, const complex_ *a, const complex_ *b)
{
    for (int i = 0; i < n; i++) {
        c[i].re = a[i].re * b[i].re - a[i].im * b[i].im;
        c[i].im = a[i].re * b[i].im + a[i].im * b[i].re;
    }
}

void areas(struct node *q, int n)
{
    for (; n > 0; n--, q++) {
        q->total = (long)q->size.w * q->size.h;
        q->id = 3;
    }
}

double mass(const struct particle *p, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        const struct particle *o = &p[i];
        s += o->mass * (o->v[0] * o->v[0] + (float)o->kind);
    }
    return s;
}

void mark(struct tight *t, int n)
{
    for (int i = 0; i < n; i++)
        t[i].value = t[i].tag + i;
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static struct particle p[300]; static complex_ a[200], b[200]; static struct node q[100]; static struct tight t[50];
    struct box box = { 290, 0.125f, 0 }; double s = 0;
    for (int i = 0; i < 300; i++) { p[i].mass = 1 + i % 3; p[i].kind = i % 5; for (int k = 0; k < 3; k++) { p[i].x[k] = i + k; p[i].v[k] = k - i % 4; } }
    for (int i = 0; i < 200; i++) { a[i].re = i % 7; a[i].im = i % 5; b[i].re = 1 - i % 3; b[i].im = i % 2; }
    for (int i = 0; i < 100; i++) { q[i].size.w = (short)(i * 37); q[i].size.h = (short)(i - 50); q[i].id = (unsigned char)i; }
    for (int i = 0; i < 50; i++) t[i].tag = (char)i;
    drift(&box, p); box.count = 0; drift(&box, 0);
    multiply(190, b, a, b); multiply(100, a + 1, a, b); multiply(0, 0, 0, 0);
    areas(q, 99); areas(q + 3, 1); mark(t, 49);
    for (int i = 0; i < 300; i++) for (int k = 0; k < 3; k++) s += p[i].x[k] * (k + 1) + p[i].v[k];
    for (int i = 0; i < 200; i++) s += a[i].re * (i % 3) - a[i].im + b[i].re + b[i].im * 2;
    for (int i = 0; i < 100; i++) s += (double)q[i].total * (i % 3) + q[i].id;
    for (int i = 0; i < 50; i++) s += t[i].value * (i % 4) + t[i].tag;
    printf("%.8g %.8g\n", s, mass(p, 299));
    return 0;
}
#endif
