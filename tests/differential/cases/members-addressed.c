// taken: threshold scale accumulate smooth count_down spread shift
// tolerance: 1e-6
// sanitize
/* Members behind addresses, in variables of the file and through pointers in structures; also where what is stored lies
   over what the loops read first. */
#include <stdint.h>
#include <string.h>
typedef struct { int width, height, stride; unsigned char *data; } picture;
struct filter { int taps; float gain, window[16]; struct { long from, to; } range; float *line; };
struct stage { struct filter *inner; int count; };
static struct filter shared;

void threshold(const picture *in, picture *out, int level)
{
    for (int y = 0; y < in->height; y++)
        for (int x = 0; x < in->width; x++)
            out->data[y * out->stride + x] = in->data[y * in->stride + x] > level ? 255 : 0;
}

void scale(struct filter *f, float by)
{
    for (long i = f->range.from; i < f->range.to; i++)
        f->line[i] = f->line[i] * by + f->gain;
}

double accumulate(const struct filter *f, const float *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 16; k++)
            s += f->window[k] * x[i + k];
    return s;
}

void smooth(int n)
{
    for (int i = 0; i < n; i++)
        shared.line[i] += shared.window[3] * shared.gain;
}

void count_down(int *a, const picture *p)
{
    for (int i = 0; i < p->width; i++)
        a[i] = p->height - i;
}

static void fill(struct filter *f, int n, float v)
{
    for (int i = 0; i < n; i++)
        f->line[i] = v * f->gain;
}

void spread(struct stage *s, int rows, int n)
{
    fill(s->inner, n, 2);
    for (int r = 1; r < rows; r++)
        for (int i = 0; i < n; i++)
            s->inner->line[r * n + i] = s->inner->line[i] + r;
}

void shift(unsigned char *bytes, struct stage *s)
{
    for (int i = 0; i < s->count; i++)
        bytes[i] = (unsigned char)(i + s->inner->taps);
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static unsigned char a[64 * 50], b[64 * 50]; static float line[600], x[100]; int row[40]; double s = 0; unsigned long h = 0;
    picture in = { 61, 49, 64, a }, out = { 61, 49, 64, b }, tiny = { 7, 3, 1, (unsigned char *)row };
    for (int i = 0; i < 3200; i++) a[i] = (unsigned char)(i * 7);
    threshold(&in, &out, 100); threshold(&in, &in, 30); threshold(&in, &tiny, 99);
    struct filter f = { 5, 0.5f, { 0 }, { 3, 90 }, line }; for (int i = 0; i < 16; i++) f.window[i] = i % 3; shared = f; shared.gain = 0.25f;
    scale(&f, 2); f.line = &f.gain - 3; f.range.to = 4; scale(&f, 3); f.line = line;
    for (int i = 0; i < 100; i++) x[i] = i % 7;
    s += accumulate(&f, x, 80); smooth(77);
    shared.line = shared.window; smooth(10); shared.line = line;
    union { int all[12]; picture p; } u = { { 0 } }; u.p.width = 9; u.p.height = 5; u.p.data = 0;
    for (int i = 0; i < 40; i++) row[i] = i; count_down(row, &in.width == 0 ? 0 : &tiny);
    picture q[2] = { { 3, 8, 0, 0 }, { 0, 0, 0, 0 } }; count_down(&q[0].width, &q[0]);
    struct stage g = { &f, 33 }; spread(&g, 4, 30);
    unsigned char bytes[64]; memset(bytes, 0, 64); shift(bytes, &g);
    f.taps = 200; struct stage over[2] = { { &f, 6 }, { 0, 0 } }; shift((unsigned char *)&over[0].count + 3, over);
    for (int i = 0; i < 3200; i++) h = h * 31 + b[i] + a[i];
    for (int i = 0; i < 40; i++) h = h * 31 + row[i] + bytes[i];
    for (int i = 0; i < 600; i++) s += line[i] * (i % 5);
    for (int i = 0; i < 16; i++) s += shared.window[i] * i;
    printf("%lu %.7g %d %d %d %g\n", h, s, q[0].width, q[0].height, over[0].count, f.gain);
    return 0;
}
#endif
