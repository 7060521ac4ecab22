// taken: resample rows
/* Sizes, offsets and factors are in nested structures, in a parameter and in a local copy of it. */
struct extent { int rows, cols; };
typedef struct { struct extent size; struct { float gain, bias; } level; int from; } grid;

void resample(const float *restrict in, float *restrict out, grid g)
{
    for (int i = 0; i < g.size.rows; i++)
        for (int j = 0; j < g.size.cols; j++)
            out[j * g.size.rows + i] = in[i * g.size.cols + j] * g.level.gain + g.level.bias;
}

void rows(const grid of, float *a)
{
    grid g;
    g = of;
    g.size.rows = of.size.rows - g.from;
    for (int i = 0; i < g.size.rows; i++)
        for (int j = 0; j < of.size.cols; j++)
            a[(i + g.from) * of.size.cols + j] += g.level.gain;
    g.level.gain = 2;
    for (int i = 0; i < g.size.rows; i++)
        a[(i + g.from) * of.size.cols] *= g.level.gain;
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    static float a[700], b[700]; double s = 0;
    grid g = { { 20, 35 }, { 0.5f, 3 }, 2 };
    for (int i = 0; i < 700; i++) a[i] = (float)(i * 7 % 64);
    resample(a, b, g);
    rows(g, b);
    for (int i = 0; i < 700; i++) s += b[i] * (i % 13);
    printf("%g\n", s);
    return 0;
}
#endif
