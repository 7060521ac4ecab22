// taken: shift copy forget drop unused first_free keep
struct box { int x, y; };
struct boxes { int n, most; struct box **box; };
struct node { double w; struct node *kids; int tag; };
void shift(double **rows, int n, int k) { for (int i = k; i < n; i++) rows[i - 1] = rows[i]; }
void copy(char **a, char **b, int n) { for (int i = 0; i < n; i++) a[i] = b[i]; }
void forget(struct node *v, int n) { for (int i = 0; i < n; i++) { v[i].kids = 0; v[i].w = 1.0; } }
void drop(struct boxes *b, int at) { for (int i = at; i + 1 < b->n; i++) b->box[i] = b->box[i + 1]; }
int unused(struct node *v, int n) { int c = 0; for (int i = 0; i < n; i++) if (!v[i].kids) c += v[i].tag; return c; }
int first_free(struct box **a, int n) { for (int i = 0; i < n; i++) if (a[i] == 0) return i; return -1; }
void keep(char **a, char **b, int n) { for (int i = 0; i < n; i++) if (b[i]) a[i] = b[i]; }

#ifdef MAIN
#include <stdio.h>
static char c[600]; static char *p[300], *q[300]; static struct node v[200];
static void tell(void) { unsigned long s = 0; for (int i = 0; i < 300; i++) s = s * 31 + (p[i] ? p[i] - c : 7); printf("%lu ", s); }
int main(void)
{
    for (int n = 0; n < 150; n += n < 20 ? 1 : 43) {
        for (int i = 0; i < 300; i++) { p[i] = i % 7 ? c + i : 0; q[i] = i % 5 ? 0 : c + 2 * i; }
        for (int i = 0; i < 200; i++) v[i] = (struct node){ i, i % 3 ? v : 0, i };
        printf("%d %d ", first_free((struct box **)p + 1, n), unused(v, n)); forget(v, n); printf("%d ", unused(v, 200));
        copy(p + 3, q, n); copy(p, p + 5, n); copy(p + 5, p, n); tell(); keep(p + 100, q, n); keep(p + 9, p, n); tell();
        shift((double **)p, n, 1); struct boxes b = { n, n, (struct box **)p }; drop(&b, n / 3); tell(); printf("\n");
    }
    return 0;
}
#endif
