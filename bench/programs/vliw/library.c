/* Kernels of medium size that a vendor's library has as well, beside those of papers.c: sizes that fill its blocks, and
   odd ones. */

void fir_1024(const float h[restrict 32], const float x[restrict 1055], float y[restrict 1024])
{
    for (int i = 0; i < 1024; i++) {
        float sum = 0;
        for (int k = 0; k < 32; k++)
            sum += h[k] * x[i + k];
        y[i] = sum;
    }
}

void fir_1000(const float h[restrict 23], const float x[restrict 1022], float y[restrict 1000])
{
    for (int i = 0; i < 1000; i++) {
        float sum = 0;
        for (int k = 0; k < 23; k++)
            sum += h[k] * x[i + k];
        y[i] = sum;
    }
}

void fir_777(const float h[restrict 65], const float x[restrict 841], float y[restrict 777])
{
    for (int i = 0; i < 777; i++) {
        float sum = 0;
        for (int k = 0; k < 65; k++)
            sum += h[k] * x[i + k];
        y[i] = sum;
    }
}

void conv2d_3_50(const float in[restrict 52][92], const float w[restrict 3][3], float out[restrict 50][90])
{
    for (int y = 0; y < 50; y++)
        for (int x = 0; x < 90; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void conv2d_3_93(const float in[restrict 95][95], const float w[restrict 3][3], float out[restrict 93][93])
{
    for (int y = 0; y < 93; y++)
        for (int x = 0; x < 93; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void matmul_61(const float a[restrict 61][67], const float b[restrict 67][125], float c[restrict 61][125])
{
    for (int i = 0; i < 61; i++)
        for (int j = 0; j < 125; j++) {
            float sum = 0;
            for (int k = 0; k < 67; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

/* Passes of radix 4 after Stockham: the first one of 60 signals of 64 points side by side, and one of 3000 points. */
void fft4_batch_60(const float w[restrict 6][16], const float xr[restrict 64][60], const float xi[restrict 64][60],
                   float yr[restrict 64][60], float yi[restrict 64][60])
{
    for (int p = 0; p < 16; p++)
        for (int q = 0; q < 60; q++) {
            float ar = xr[p][q], ai = xi[p][q], br = xr[p + 16][q], bi = xi[p + 16][q];
            float cr = xr[p + 32][q], ci = xi[p + 32][q], dr = xr[p + 48][q], di = xi[p + 48][q];
            float er = ar + cr, ei = ai + ci, fr = ar - cr, fi = ai - ci;
            float gr = br + dr, gi = bi + di, hr = bi - di, hi = dr - br;
            yr[4 * p][q] = er + gr;
            yi[4 * p][q] = ei + gi;
            yr[4 * p + 1][q] = (fr + hr) * w[0][p] - (fi + hi) * w[1][p];
            yi[4 * p + 1][q] = (fr + hr) * w[1][p] + (fi + hi) * w[0][p];
            yr[4 * p + 2][q] = (er - gr) * w[2][p] - (ei - gi) * w[3][p];
            yi[4 * p + 2][q] = (er - gr) * w[3][p] + (ei - gi) * w[2][p];
            yr[4 * p + 3][q] = (fr - hr) * w[4][p] - (fi - hi) * w[5][p];
            yi[4 * p + 3][q] = (fr - hr) * w[5][p] + (fi - hi) * w[4][p];
        }
}

void fft4_pass_3000(const float w[restrict 6][5], const float xr[restrict 3000], const float xi[restrict 3000],
                    float yr[restrict 3000], float yi[restrict 3000])
{
    for (int p = 0; p < 5; p++)
        for (int q = 0; q < 150; q++) {
            float ar = xr[q + 150 * p], ai = xi[q + 150 * p], br = xr[q + 150 * p + 750], bi = xi[q + 150 * p + 750];
            float cr = xr[q + 150 * p + 1500], ci = xi[q + 150 * p + 1500], dr = xr[q + 150 * p + 2250],
                  di = xi[q + 150 * p + 2250];
            float er = ar + cr, ei = ai + ci, fr = ar - cr, fi = ai - ci;
            float gr = br + dr, gi = bi + di, hr = bi - di, hi = dr - br;
            yr[q + 600 * p] = er + gr;
            yi[q + 600 * p] = ei + gi;
            yr[q + 600 * p + 150] = (fr + hr) * w[0][p] - (fi + hi) * w[1][p];
            yi[q + 600 * p + 150] = (fr + hr) * w[1][p] + (fi + hi) * w[0][p];
            yr[q + 600 * p + 300] = (er - gr) * w[2][p] - (ei - gi) * w[3][p];
            yi[q + 600 * p + 300] = (er - gr) * w[3][p] + (ei - gi) * w[2][p];
            yr[q + 600 * p + 450] = (fr - hr) * w[4][p] - (fi - hi) * w[5][p];
            yi[q + 600 * p + 450] = (fr - hr) * w[5][p] + (fi - hi) * w[4][p];
        }
}
