// taken: decimate dilated back
// tolerance: 1e-5
/* Windows that move by a parameter: what is read is not affine, what is stored is. */
void decimate(int rows, int cols, int pitch, int step, const float *src, float *dst)
{
    for (int r = 0; r < rows; r++)
        for (int q = 0; q < cols; q++) {
            float acc = 0.0f;
            for (int u = 0; u < 3; u++)
                for (int v = 0; v < 3; v++)
                    acc += src[(r * step + u) * pitch + q * step + v];
            dst[r * cols + q] = acc / 9.0f;
        }
}
/* Declared rows; a stride and a distance between taps. */
void dilated(int h, int w, int hin, int win, int s, int d, double in[hin][win], double k[3][3], double out[h][w])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            double t = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    t += in[y * s + i * d][x * s + j * d] * k[i][j];
            out[y][x] = t;
        }
}
void back(int n, int f, const float *a, float *restrict b)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i * n + j] = a[i * f + j * f + i * 7];
}

#ifdef MAIN
#include <stdio.h>
static float src[64 * 64], dst[64 * 64];
static double in[31][37], k[3][3] = {{1, 2, 1}, {0, 3, 0}, {1, 1, 1}}, out[13][15];
static double sum(const float *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i] * (i % 11 + 1); return s; }
int main(void)
{
    for (int i = 0; i < 64 * 64; i++) src[i] = (i * 7 % 31) * 0.5f;
    for (int s = 0; s < 4; s++) { decimate(9, 11, 60, s, src, dst); printf("%.6g\n", sum(dst, 99)); }
    /* Backwards, and over its own input. */
    decimate(5, 5, 60, -2, src + 2000, dst); printf("%.6g\n", sum(dst, 25));
    decimate(5, 7, 60, 1, src, src + 3); printf("%.6g\n", sum(src, 600));
    decimate(0, 7, 60, 1, src, src); decimate(7, -1, 60, 1, src, src);
    for (int i = 0; i < 31 * 37; i++) in[i / 37][i % 37] = i % 17;
    for (int s = 0; s < 3; s++) {
        double t = 0;
        dilated(12, 14, 31, 37, s, 3 - s, in, k, out);
        for (int i = 0; i < 180; i++) t += out[i / 15][i % 15] * (i % 5);
        printf("%.6g\n", t);
    }
    back(12, 3, src, dst); printf("%.6g\n", sum(dst, 144));
    back(12, -3, src + 500, dst); printf("%.6g\n", sum(dst, 144));
    return 0;
}
#endif
