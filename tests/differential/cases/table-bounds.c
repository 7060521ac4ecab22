// taken: permute amplify score tone patch shade
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

float patch(size_t n, const int *row, const signed char *column, float grid[][6], const struct model *m)
{
    float s = 0;
    for (size_t i = 0; i < n; i++)
        s += grid[row[i]][column[i]] * m->weight[column[i] + 1];
    return s;
}

struct ramp { int n; short level[3][5]; };

void shade(int n, const uint8_t *restrict level, const int *restrict at, const struct ramp *p, int *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = p->level[level[i]][at[i]] + p->level[2][at[i]];
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
    static float grid[9][6];
    static signed char column[200];
    static uint8_t level[200];
    static const struct ramp ramp = {3, {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, {11, 12, 13, 14, 15}}};
    static int row[200], shades[200], at[200];
    for (int i = 0; i < 54; i++) grid[i / 6][i % 6] = (float)(i % 7 - 2);
    for (int i = 0; i < 200; i++) {
        row[i] = i * 5 % 9; column[i] = (signed char)(i % 6); level[i] = (uint8_t)(i % 3); at[i] = i * 3 % 5;
    }
    shade(200, level, at, &ramp, shades);
    for (int i = 0; i < 200; i++) sum += shades[i] * (i % 7);
    printf("%.9g %.9g\n", (double)patch(200, row, column, grid, &m), sum);
    return 0;
}
#endif
