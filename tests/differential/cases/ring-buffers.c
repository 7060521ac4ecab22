// taken: comb put window taps
/* Places that go round by % and by a mask, forwards and backwards, in parameters and in structures. */
#include <stddef.h>
#include <stdint.h>
#define LAST 63
struct queue { uint16_t *slots; size_t head; };
struct line { double past[128]; int write; };

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

#ifdef MAIN
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
    printf("%.8g %ld %d %d\n", sum, total, (int)q.head, s.write);
    return 0;
}
#endif
