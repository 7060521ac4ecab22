/* Kernels of digital signal processing, in plain C. */
#include <math.h>

void fir(int n, int taps, const float *restrict x, const float *restrict h, float *restrict y)
{
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = 0; k < taps; k++)
            sum += h[k] * x[i + k];
        y[i] = sum;
    }
}

void biquad(int n, const float c[restrict 5], const float *restrict x, float *restrict y, float s[restrict 2])
{
    float w1 = s[0], w2 = s[1];
    for (int i = 0; i < n; i++) {
        float w = x[i] - c[3] * w1 - c[4] * w2;
        y[i] = c[0] * w + c[1] * w1 + c[2] * w2;
        w2 = w1;
        w1 = w;
    }
    s[0] = w1;
    s[1] = w2;
}

/* 64 channels side by side. */
void biquad_channels(int n, const float c[restrict 5], const float *restrict x, float *restrict y, float *restrict s)
{
    for (int j = 0; j < 64; j++) {
        float w1 = s[j], w2 = s[64 + j];
        for (int i = 0; i < n; i++) {
            float w = x[i * 64 + j] - c[3] * w1 - c[4] * w2;
            y[i * 64 + j] = c[0] * w + c[1] * w1 + c[2] * w2;
            w2 = w1;
            w1 = w;
        }
        s[j] = w1;
        s[64 + j] = w2;
    }
}

void lms_update(int taps, float step, const float *restrict x, float *restrict h)
{
    for (int k = 0; k < taps; k++)
        h[k] += step * x[k];
}

float dot(int n, const float *x, const float *y)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

void axpy(int n, float a, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}

void matvec(int m, int n, const float *restrict A, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < m; i++) {
        float sum = 0;
        for (int j = 0; j < n; j++)
            sum += A[i * n + j] * x[j];
        y[i] = sum;
    }
}

void outer(int m, int n, const float *restrict x, const float *restrict y, float *restrict A)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            A[i * n + j] += x[i] * y[j];
}

void transpose(const float a[restrict 32][32], float b[restrict 32][32])
{
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++)
            b[i][j] = a[j][i];
}

void complex_multiply(int n, const float *restrict ar, const float *restrict ai, const float *restrict br,
                      const float *restrict bi, float *restrict cr, float *restrict ci)
{
    for (int i = 0; i < n; i++) {
        cr[i] = ar[i] * br[i] - ai[i] * bi[i];
        ci[i] = ar[i] * bi[i] + ai[i] * br[i];
    }
}

void window(int n, const float *restrict w, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] * w[i];
}

void mean_square(int n, const float *restrict x, float *restrict mean, float *restrict square)
{
    float a = 0, b = 0;
    for (int i = 0; i < n; i++) {
        a += x[i];
        b += x[i] * x[i];
    }
    *mean = a;
    *square = b;
}

void max_index(int n, const float *restrict x, float *restrict most, int *restrict place)
{
    float best = x[0];
    int at = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > best) {
            best = x[i];
            at = i;
        }
    *most = best;
    *place = at;
}

float peak(int n, const float *x)
{
    float most = 0;
    for (int i = 0; i < n; i++)
        most = fmaxf(most, fabsf(x[i]));
    return most;
}

/* The paths into 64 states, of two before each. */
void viterbi_step(const float old[restrict 64], const float metric[restrict 128], float now[restrict 64],
                  int decision[restrict 64])
{
    for (int s = 0; s < 32; s++) {
        float a = old[s] + metric[s], b = old[s + 32] + metric[s + 64];
        now[s] = a < b ? a : b;
        decision[s] = a < b ? 0 : 1;
    }
    for (int s = 0; s < 32; s++) {
        float a = old[s] + metric[s + 32], b = old[s + 32] + metric[s + 96];
        now[s + 32] = a < b ? a : b;
        decision[s + 32] = a < b ? 0 : 1;
    }
}

/* Rows of blocks of 8x8 side by side: one dimension of a cosine transform by its matrix. */
void dct_8(const float c[restrict 8][8], const float x[restrict 8][64], float y[restrict 8][64])
{
    for (int u = 0; u < 8; u++)
        for (int j = 0; j < 64; j++) {
            float sum = 0;
            for (int k = 0; k < 8; k++)
                sum += c[u][k] * x[k][j];
            y[u][j] = sum;
        }
}

void separable(const float w[restrict 5], const float in[restrict 68][68], float middle[restrict 68][64],
               float out[restrict 64][64])
{
    for (int y = 0; y < 68; y++)
        for (int x = 0; x < 64; x++) {
            float sum = 0;
            for (int k = 0; k < 5; k++)
                sum += w[k] * in[y][x + k];
            middle[y][x] = sum;
        }
    for (int y = 0; y < 64; y++)
        for (int x = 0; x < 64; x++) {
            float sum = 0;
            for (int k = 0; k < 5; k++)
                sum += w[k] * middle[y + k][x];
            out[y][x] = sum;
        }
}

void sobel(const int in[restrict 66][66], int out[restrict 64][64])
{
    for (int y = 0; y < 64; y++)
        for (int x = 0; x < 64; x++) {
            int h = in[y][x + 2] - in[y][x] + 2 * (in[y + 1][x + 2] - in[y + 1][x]) + in[y + 2][x + 2] - in[y + 2][x];
            int v = in[y + 2][x] - in[y][x] + 2 * (in[y + 2][x + 1] - in[y][x + 1]) + in[y + 2][x + 2] - in[y][x + 2];
            h = h < 0 ? -h : h;
            v = v < 0 ? -v : v;
            out[y][x] = h + v;
        }
}

#define SORT(a, b) { int low = a < b ? a : b; b = a < b ? b : a; a = low; }

void median_3(const int in[restrict 34][66], int out[restrict 32][64])
{
    for (int y = 0; y < 32; y++)
        for (int x = 0; x < 64; x++) {
            int a = in[y][x], b = in[y][x + 1], c = in[y][x + 2], d = in[y + 1][x], e = in[y + 1][x + 1],
                f = in[y + 1][x + 2], g = in[y + 2][x], h = in[y + 2][x + 1], i = in[y + 2][x + 2];
            SORT(b, c) SORT(e, f) SORT(h, i) SORT(a, b) SORT(d, e) SORT(g, h) SORT(b, c) SORT(e, f) SORT(h, i)
            SORT(a, d) SORT(f, i) SORT(e, h) SORT(d, g) SORT(b, e) SORT(c, f) SORT(e, h) SORT(e, c) SORT(g, e)
            SORT(e, c)
            out[y][x] = e;
        }
}

/* Sums of absolute differences of a block and those around its place. */
void sad(const int block[restrict 16][16], const int in[restrict 48][48], int out[restrict 32][32])
{
    for (int y = 0; y < 32; y++)
        for (int x = 0; x < 32; x++) {
            int sum = 0;
            for (int i = 0; i < 16; i++)
                for (int j = 0; j < 16; j++) {
                    int d = in[y + i][x + j] - block[i][j];
                    sum += d < 0 ? -d : d;
                }
            out[y][x] = sum;
        }
}

/* 256 matrices side by side. */
void inverse_3(const float a[restrict 9][256], float b[restrict 9][256])
{
    for (int s = 0; s < 256; s++) {
        float c0 = a[4][s] * a[8][s] - a[5][s] * a[7][s];
        float c1 = a[5][s] * a[6][s] - a[3][s] * a[8][s];
        float c2 = a[3][s] * a[7][s] - a[4][s] * a[6][s];
        float d = 1 / (a[0][s] * c0 + a[1][s] * c1 + a[2][s] * c2);
        b[0][s] = c0 * d;
        b[1][s] = (a[2][s] * a[7][s] - a[1][s] * a[8][s]) * d;
        b[2][s] = (a[1][s] * a[5][s] - a[2][s] * a[4][s]) * d;
        b[3][s] = c1 * d;
        b[4][s] = (a[0][s] * a[8][s] - a[2][s] * a[6][s]) * d;
        b[5][s] = (a[2][s] * a[3][s] - a[0][s] * a[5][s]) * d;
        b[6][s] = c2 * d;
        b[7][s] = (a[1][s] * a[6][s] - a[0][s] * a[7][s]) * d;
        b[8][s] = (a[0][s] * a[4][s] - a[1][s] * a[3][s]) * d;
    }
}

/* 128 matrices of 4x4 side by side, without pivots. */
void lu_4(float a[restrict 4][4][128])
{
    for (int k = 0; k < 4; k++)
        for (int i = k + 1; i < 4; i++) {
            for (int s = 0; s < 128; s++)
                a[i][k][s] = a[i][k][s] / a[k][k][s];
            for (int j = k + 1; j < 4; j++)
                for (int s = 0; s < 128; s++)
                    a[i][j][s] -= a[i][k][s] * a[k][j][s];
        }
}

/* Sine and cosine of 256 angles, in fractions of 2**28. */
void cordic(const int table[restrict 12], const int angle[restrict 256], int cosine[restrict 256],
            int sine[restrict 256])
{
    for (int n = 0; n < 256; n++) {
        int x = 163008218, y = 0, z = angle[n];
        for (int i = 0; i < 12; i++) {
            int s = z < 0 ? -1 : 1;
            int nx = x - s * (y >> i);
            y = y + s * (x >> i);
            x = nx;
            z = z - s * table[i];
        }
        cosine[n] = x;
        sine[n] = y;
    }
}

void quantise(int n, float scale, const float *restrict x, int *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = (int)(x[i] * scale);
}

void magnitude(int n, const float *restrict re, const float *restrict im, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = sqrtf(re[i] * re[i] + im[i] * im[i]);
}

void interpolate(int n, const float *restrict x, float a, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] + a * (x[i + 1] - x[i]);
}
