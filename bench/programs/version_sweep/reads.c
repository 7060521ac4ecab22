/* Reads that are not affine: windows that move by a parameter, packed triangles, tables that data choose from. */
#include <stdint.h>

static const uint8_t curve[256] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6};
static const short weights[4][16] = {{1, -2, 3, -4}, {5, 6, 7, 8, -9, 10}, {0, 0, 0, 300}, {-1, -1}};

void windows(int h, int w, int pitch, int step, const float *restrict in, float *restrict out)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float s = 0.0f;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    s += in[(y * step + i) * pitch + x * step + j];
            out[y * w + x] = s;
        }
}

void largest(int h, int w, int n, int wide, int step, const uint8_t *in, uint8_t *restrict out)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < n; c++) {
                uint8_t s = 0;
                for (int i = 0; i < 2; i++)
                    for (int j = 0; j < 2; j++) {
                        uint8_t p = in[((y * step + i) * wide + x * step + j) * n + c];
                        if (p > s)
                            s = p;
                    }
                out[(y * w + x) * n + c] = s;
            }
}

void triangle(int n, const double *restrict packed, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++) {
        double s = 0.0;
        for (int j = 0; j <= i; j++)
            s += packed[i * (i + 1) / 2 + j] * x[j];
        y[i] = s;
    }
}

void tone(int h, int w, const uint8_t *restrict in, uint8_t *restrict out)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            out[y * w + x] = curve[in[y * w + x]] > 4 ? curve[255 - in[y * w + x]] : in[y * w + x];
}

void graded(int n, int m, const uint8_t *restrict kind, const short *restrict x, int *restrict sum)
{
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++)
            sum[j] += weights[kind[i] & 3][x[j * n + i] & 15] * x[j * n + i];
}
