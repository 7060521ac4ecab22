// taken: comb put window taps delayed unwound thinned recorded
/* Places that go round by %, by a mask, and where they are set back, forwards and backwards, in parameters and in
 * structures. */
#include <stddef.h>
#include <stdint.h>
#define LAST 63
struct queue { uint16_t *slots; size_t head; };
struct line { double past[128]; int write; };
struct track { float *cells; unsigned short now, cells_in_all; int turns; };

void comb(size_t count, double *sample, double *store, size_t size, size_t position, double gain)
{
    for (size_t t = 0; t < count; t++) {
        double old = store[(t + position) % size];
        store[(t + position) % size] = sample[t];
        sample[t] += gain * old;
    }
}

void put(struct queue *q, const uint16_t *from, int many)
{
    for (int k = 0; k < many; ++k)
        q->slots[q->head++ & LAST] = from[k];
}

void window(long n, int *to, int *ring, int newest, long last)
{
    for (long back = 0; back < n; back++) {
        const long at = (newest - back) & last;
        to[back] += 3 * ring[at];
        ring[at] = (int)back;
    }
}

void taps(struct line *s, const double *in, double *out, int n, int by)
{
    for (int i = 0; i < n; i++, s->write++) {
        out[i] = s->past[(s->write + by) & 127] + in[i];
        s->past[s->write & 127] = 0.5 * in[i];
    }
}

int delayed(int n, int at, int size, const float *in, float *restrict out, float *restrict cells)
{
    for (int i = 0; i < n; i++) {
        float old = cells[at];
        out[i] = in[i] - old;
        cells[at] = in[i] + 0.5f * old;
        if (++at == size)
            at = 0;
    }
    return at;
}

float unwound(int n, unsigned at, const float *restrict w, const float *restrict cells)
{
    float s = 0;
    for (int i = 0; i < n; i++) {
        s += w[i] * cells[at];
        if (at == 0)
            at = (unsigned)n - 1;
        else
            --at;
    }
    return s;
}

long thinned(int n, long at, long size, int *restrict out, const int *restrict cells)
{
    for (int i = 0; i < n; i++) {
        out[i] = cells[at] + (int)at;
        at += 3;
        if (at >= size) { at -= size; }
        out[i] -= cells[at];
    }
    return at;
}

void recorded(struct track *t, const float *in, int n)
{
    for (int i = 0; i < n; i++) {
        t->cells[t->now] = in[i];
        t->now = t->now + 1 < t->cells_in_all ? t->now + 1 : 0;
    }
}

#ifdef MAIN
static double set_back(void)
{
    static float in[400], out[400], cells[300];
    static int to[400], ring[300];
    double sum = 0;
    const int sizes[] = {1, 2, 15, 17, 60, 211};
    for (int i = 0; i < 400; i++) in[i] = i % 11;
    for (int i = 0; i < 300; i++) ring[i] = i * i % 101;
    for (int k = 0; k < 6; k++)
        for (int at = -1; at <= sizes[k]; at += sizes[k] > 3 ? sizes[k] / 3 : 1) {
            /* A place outside of the ring goes on until it comes to the end, or does not. */
            struct track t = {cells, (unsigned short)(at + 1), (unsigned short)sizes[k], 0};
            if (at <= sizes[k] - 1) sum += delayed(at < 0 ? 0 : 400, at, sizes[k], in, out, cells);
            else sum += delayed(20, at, sizes[k], in, out, cells);
            if (at > 0 && at < sizes[k]) for (int i = 0; i < 211; i++) cells[i] = (int)cells[i] % 9;
            if (at >= 0 && at < sizes[k]) sum += unwound(sizes[k], (unsigned)at, in, cells);
            if (sizes[k] > 3) sum += thinned(400, at + 1, sizes[k], to, ring);
            recorded(&t, in, 400 - k);
            sum += t.now;
            for (int i = 0; i < 400; i++) sum += (out[i] + to[i]) * (i % 5);
        }
    return sum;
}

#include <stdio.h>
int main(void)
{
    static double x[700], y[700], store[90];
    static struct line s;
    static uint16_t slots[64], from[300];
    static int to[400], ring[64];
    struct queue q = {slots, (size_t)-9};
    double sum = 0;
    long total = 0;
    for (int i = 0; i < 700; i++) x[i] = i % 13;
    for (int i = 0; i < 300; i++) from[i] = (uint16_t)(i * 7);
    for (int i = 0; i < 400; i++) to[i] = i;
    comb(700, x, store, 83, 1000, 0.5); comb(0, x, store, 83, 3, 0.5); comb(5, x, store, 1, 3, 0.5);
    put(&q, from, 300); put(&q, from, 45);
    window(400, to, ring, 37, 63); window(70, to, ring, -5, 31); window(70, to, ring, 5, 44);
    taps(&s, x, y, 700, 40); s.write = -30; taps(&s, x, y, 300, -127); taps(&s, x, y, 60, 128);
    for (int i = 0; i < 700; i++) sum += (x[i] + 2 * y[i]) * (i % 7);
    for (int i = 0; i < 64; i++) total = total * 3 % 1000003 + slots[i];
    for (int i = 0; i < 400; i++) total = total * 3 % 1000003 + to[i];
    for (int i = 0; i < 64; i++) total = total * 3 % 1000003 + ring[i];
    printf("%.8g %ld %d %d %.8g\n", sum, total, (int)q.head, s.write, set_back());
    return 0;
}
#endif
