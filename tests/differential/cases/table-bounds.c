// taken: permute amplify score tone
/* Data choose elements of arrays whose lengths are numbers: by tables, cells, offsets and members. */
#include <stddef.h>
#include <stdint.h>
static const uint8_t order[16] = {0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15};
static const double gain[37] = {1, 2, 3, 4.5};
struct model { float weight[300]; };

void permute(const short dc[16], short out[16][4])
{
    for (int i = 0; i < 16; i++)
        out[i][0] = dc[order[i]];
}

void amplify(int n, const int *step, const double *in, double *out)
{
    for (int i = 0; i < n; i++) {
        int s = step[i];
        out[i] = in[i] * gain[s] + gain[s - 1];
    }
}

float score(const struct model *m, size_t n, const uint16_t *id, const float *v)
{
    float s = 0;
    for (size_t i = 0; i < n; i++)
        s += m->weight[id[i]] * v[i];
    return s;
}

int tone(int n, const unsigned *k, const int *v)
{
    static const int w[77] = {1, 2, 3, 4};
    int s = 0;
    for (int i = 0; i < n; i++) {
        const unsigned c = k[i];
        s += v[i] * w[c] + w[c + 1];
    }
    return s;
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static short dc[16], out[16][4];
    static int step[200], v[200];
    static unsigned k[200];
    static double x[200], y[200];
    static float f[200];
    static uint16_t id[200];
    static struct model m;
    double sum = 0;
    for (int i = 0; i < 200; i++) {
        step[i] = 1 + i * 7 % 36; k[i] = (unsigned)(i * 5 % 76); id[i] = (uint16_t)(i * 11 % 300);
        x[i] = i % 9; f[i] = (float)(i % 5); v[i] = i % 13;
    }
    for (int i = 0; i < 300; i++) m.weight[i] = (float)(i % 17);
    for (int i = 0; i < 16; i++) dc[i] = (short)(i * 3);
    permute(dc, out); amplify(200, step, x, y);
    for (int i = 0; i < 200; i++) sum += y[i];
    for (int i = 0; i < 16; i++) sum += out[i][0] * i;
    printf("%.9g %.9g %d\n", sum, (double)score(&m, 200, id, f), tone(200, k, v));
    return 0;
}
#endif
