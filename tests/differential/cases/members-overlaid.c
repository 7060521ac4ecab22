// taken: add_columns sum_longs scale_by_one apply_gain wrapped costs over_itself undefined
// tolerance: 1e-9
// sanitize
/* Members of unions: addresses and numbers that share their place, by name or without one. */
typedef struct {
    int kind;
    long rows;
    union { double *d; long *l; char *c; double one; long whole; char text[32]; } data;
    char *undef;
} column;
typedef struct { int n; union { float *f; int *i; }; float gain; } anon;
union bits { unsigned *words; unsigned char *bytes; unsigned long count; };
struct wrap { struct { union bits b; int m; } in; short tail; };
typedef struct { int op; union { double d; void *p; } v; int cost; } node_t;

void add_columns(column *a, const column *b) { for (long i = 0; i < a->rows; i++) a->data.d[i] += b->data.d[i]; }
long sum_longs(const column *a) { long s = 0; for (long i = 0; i < a->rows; i++) s += a->data.l[i]; return s; }
void scale_by_one(column *a, const column *k) { for (long i = 0; i < a->rows; i++) a->data.d[i] *= k->data.one; }
void fill_whole(column *a, const column *k)
{
    long n = a->rows;
    for (long i = 0; i < n; i++) a->data.l[i] = k->data.whole + i;
}
void apply_gain(anon *a) { for (int i = 0; i < a->n; i++) a->f[i] *= a->gain; }
int sum_ints(const anon *a) { int s = 0; for (int i = 0; i < a->n; i++) s += a->i[i]; return s; }
void wrapped(struct wrap *w) { for (int i = 0; i < w->in.m; i++) w->in.b.words[i] ^= 0x55u; }
long costs(const node_t *v, int n) { long s = 0; for (int i = 0; i < n; i++) s += v[i].cost; return s; }
/* The end of the loop lies where elements are stored. */
void over_itself(column *a, long *out) { for (long i = 0; i < a->data.whole; i++) out[i] = i + 3; }
/* A number that the loop stores to as a member of a union. */
void count_set(column *a, const char *p, int n) { for (int i = 0; i < n; i++) if (p[i]) a->data.whole++; }
void text_fill(column *a) { for (int i = 0; i < 32; i++) a->data.text[i] = (char)(i + 1); }
void undefined(column *a) { long n = a->rows; while (n--) { a->data.d[n] = 0.0; a->undef[n] = 1; } }
#ifdef MAIN
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
static double da[1000], db[1000];
static long la[1000];
static float fa[1000];
static unsigned wa[1000];
static int ia[1000];
static char ua[1000];
int main(void)
{
    static const long sizes[] = { 0, 1, 2, 17, 64, 333, 1000 };
    for (int k = 0; k < 7; k++) {
        long n = sizes[k];
        for (int i = 0; i < 1000; i++) {
            da[i] = i * 0.5; db[i] = 3 - i; la[i] = i * 7 - 11;
            fa[i] = (float)i; wa[i] = i * 77u; ia[i] = i ^ 5;
        }
        column a = { 1, n, { .d = da }, ua };
        column b = { 1, n, { .d = db }, ua };
        column l = { 2, n, { .l = la }, ua };
        column one = { 3, n, { .one = 1.25 }, 0 };
        column w = { 4, n, { .whole = 9 }, 0 };
        add_columns(&a, &b); scale_by_one(&a, &one);
        long s = sum_longs(&l); fill_whole(&l, &w); s += sum_longs(&l);
        anon f = { (int)n, { .f = fa }, 2.5f }, g = { (int)n, { .i = ia }, 0 };
        apply_gain(&f); s += sum_ints(&g);
        struct wrap x = { { { wa }, (int)n }, 0 }; wrapped(&x);
        node_t *v = malloc((n + 1) * sizeof *v);
        for (long i = 0; i < n; i++) v[i] = (node_t){ (int)i, { .d = 1.0 }, (int)(i * 3) };
        s += costs(v, (int)n); free(v);
        double t = 0; for (int i = 0; i < 1000; i++) t += da[i] * (i % 7) + fa[i] + wa[i] % 1000;
        printf("%ld %.17g\n", s, t);
        /* the union itself is in what is stored to */
        column self = { 5, 0, { .whole = n < 30 ? n : 30 }, 0 };
        long *out = malloc(64 * sizeof *out);
        memset(out, 0, 64 * sizeof *out);
        over_itself(&self, out);
        unsigned long h = 0; for (int i = 0; i < 64; i++) h = h * 31 + out[i];
        column *inside = malloc(sizeof *inside + 64 * sizeof(long));
        memset(inside, 0, sizeof *inside + 64 * sizeof(long));
        inside->data.whole = 12;
        over_itself(inside, (long *)inside - 0);
        h = h * 31 + inside->data.whole; free(inside);
        count_set(&self, "a\0bc\0\0d", 7); h += self.data.whole;
        text_fill(&self);
        for (int i = 0; i < 32; i++) h = h * 33 + self.data.text[i];
        undefined(&a);
        for (int i = 0; i < 1000; i++) h = h * 3 + (long)da[i] + ua[i];
        printf("%lu\n", h); free(out);
    }
    return 0;
}
#endif
