// taken: combine dot invert play ramp total weights blank shade
// tolerance: 1e-6
// sanitize
/* What a `void *` leads to, or the address of a structure that begins a larger one, by casts of the user's: in macros,
   in variables, in members; also where what is stored lies over what the loops read first. */
#include <string.h>
struct content { long length; int own; double *data; int count; float *w; };
typedef struct content *Content;
typedef struct vec { void *content; void *ops; } *Vec;
#define CONTENT(v) ((Content)((v)->content))
#define ITH(v, i) (CONTENT(v)->data[i])
void combine(double a, Vec x, double b, Vec y, Vec z) { for (long i = 0; i < CONTENT(x)->length; i++) ITH(z, i) = a * ITH(x, i) + b * ITH(y, i); }
double dot(Vec x, Vec y) { double s = 0; for (long i = 0; i < CONTENT(x)->length; i++) s += ITH(x, i) * ITH(y, i); return s; }

struct shape { int kind; };
struct image { struct shape base; int w, h; unsigned char *px; };
void invert(struct shape *b)
{
    struct image *im = (struct image *)b;
    for (int y = 0; y < im->h; y++)
        for (int x = 0; x < im->w; x++)
            im->px[y * im->w + x] = 255 - im->px[y * im->w + x];
}

struct voice { int n; float gain; float line[64]; };
void play(void *priv, const float *in, float *out) { struct voice *s = priv; for (int i = 0; i < s->n; i++) out[i] = in[i] * s->gain + s->line[i]; }
void ramp(void *priv, int n) { struct voice *s = (struct voice *)priv; for (int i = 0; i < n && i < 64; i++) s->line[i] = (float)i * s->gain; }

typedef struct { void *user; void *more; } hooks;
int total(const hooks *c, int n) { int t = 0; for (int i = 0; i < n; i++) t += ((const int *)c->user)[i]; return t; }
void weights(Vec v, float c) { for (int i = 0; i < CONTENT(v)->count; i++) CONTENT(v)->w[i] = c * i; }

/* Characters are stored: they may be a part of the address that leads to them. */
struct bytes { int n; unsigned char *at; };
void blank(hooks *c) { struct bytes *p = c->more; for (int i = 0; i < p->n; i++) p->at[i] = (unsigned char)(i * 5); }
void shade(hooks *c, unsigned char *to, int n) { for (int i = 0; i < n; i++) to[i] = (unsigned char)(((struct bytes *)c->more)->at[i] / 2); }

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static double d[3][400]; static float w[100], in[64], out[64]; static unsigned char px[60 * 40], row[300];
    static const long sizes[] = { 0, 1, 7, 64, 399 };
    double s = 0; unsigned long h = 0;
    for (int k = 0; k < 5; k++) {
        long n = sizes[k]; int few = n < 64 ? (int)n : 64;
        for (int i = 0; i < 400; i++) { d[0][i] = i * 0.5; d[1][i] = 3 - i; d[2][i] = 1; }
        struct content x = { n, 1, d[0], few, w }, y = { n, 1, d[1], few, w }, z = { n, 1, d[2], few, w };
        struct vec vx = { &x, 0 }, vy = { &y, 0 }, vz = { &z, 0 };
        combine(2, &vx, 0.5, &vy, &vz); s += dot(&vx, &vz); weights(&vy, 0.25f);
        combine(1, &vx, 1, &vz, &vx); s += dot(&vx, &vy);
        z.data = d[0] + (n > 3 ? 1 : 0); z.length = x.length = n > 3 ? n - 2 : 0; combine(0.5, &vx, 0.25, &vy, &vz);
        struct image im = { { 1 }, (int)(n % 60), (int)(n % 40), px }; invert(&im.base);
        struct voice v = { few, 0.5f, { 0 } }; for (int i = 0; i < 64; i++) in[i] = i % 9;
        ramp(&v, (int)n); play(&v, in, out); play(&v, in, v.line); play(&v, v.line, &v.gain + 1);
        int user[400]; for (int i = 0; i < 400; i++) user[i] = i * i;
        struct bytes b = { (int)(n < 300 ? n : 300), row }; hooks c = { user, &b };
        s += total(&c, (int)n); blank(&c); shade(&c, px, few); shade(&c, row + 1, few);
        for (int i = 0; i < 64; i++) s += out[i] * i + w[i];
    }
    /* The end of the loop, and the address, lie where it stores. */
    struct bytes own = { 9, 0 }; hooks c = { 0, &own }; own.at = (unsigned char *)&own; own.n = 3; blank(&c);
    union { hooks c; unsigned char b[64]; } u; unsigned char from[64]; struct bytes p = { 64, from };
    memset(&u, 0, sizeof u); for (int i = 0; i < 64; i++) from[i] = (unsigned char)(i * 3);
    u.c.more = &p; shade(&u.c, u.b + sizeof(hooks), 40);
    struct image tiny = { { 1 }, 2, 1, 0 }; unsigned char kind[sizeof tiny]; tiny.px = (unsigned char *)&tiny.base.kind; invert(&tiny.base); memcpy(kind, &tiny, sizeof(int));
    for (int i = 0; i < 2400; i++) h = h * 31 + px[i];
    for (int i = 0; i < 300; i++) h = h * 31 + row[i];
    for (int i = 0; i < 64; i++) h = h * 33 + u.b[i] * (i >= (int)sizeof(hooks)) + (i < 4 ? kind[i] : 0);
    for (int i = 0; i < 400; i++) s += d[0][i] * (i % 5) + d[2][i];
    printf("%lu %.9g %d %d\n", h, s, own.n & 0xffffff, tiny.w);
    return 0;
}
#endif
