/* The four kinds of kernels of the FT-Matrix kernel generator's evaluation, small (less than 256 floats) and medium;
   complex numbers in two arrays. */

void autocor_16(const float x[restrict 24], float r[restrict 8])
{
    for (int k = 0; k < 8; k++) {
        float sum = 0;
        for (int i = 0; i < 16; i++)
            sum += x[i] * x[i + k];
        r[k] = sum;
    }
}

void autocor_64(const float x[restrict 80], float r[restrict 16])
{
    for (int k = 0; k < 16; k++) {
        float sum = 0;
        for (int i = 0; i < 64; i++)
            sum += x[i] * x[i + k];
        r[k] = sum;
    }
}

void autocor_100(const float x[restrict 140], float r[restrict 40])
{
    for (int k = 0; k < 40; k++) {
        float sum = 0;
        for (int i = 0; i < 100; i++)
            sum += x[i] * x[i + k];
        r[k] = sum;
    }
}

void autocor_512(const float x[restrict 640], float r[restrict 128])
{
    for (int k = 0; k < 128; k++) {
        float sum = 0;
        for (int i = 0; i < 512; i++)
            sum += x[i] * x[i + k];
        r[k] = sum;
    }
}

void autocor_1000(const float x[restrict 1100], float r[restrict 100])
{
    for (int k = 0; k < 100; k++) {
        float sum = 0;
        for (int i = 0; i < 1000; i++)
            sum += x[i] * x[i + k];
        r[k] = sum;
    }
}

void autocor_2048(const float x[restrict 2304], float r[restrict 256])
{
    for (int k = 0; k < 256; k++) {
        float sum = 0;
        for (int i = 0; i < 2048; i++)
            sum += x[i] * x[i + k];
        r[k] = sum;
    }
}

void conv2d_3_8(const float in[restrict 10][10], const float w[restrict 3][3], float out[restrict 8][8])
{
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void conv2d_5_11(const float in[restrict 15][15], const float w[restrict 5][5], float out[restrict 11][11])
{
    for (int y = 0; y < 11; y++)
        for (int x = 0; x < 11; x++) {
            float sum = 0;
            for (int i = 0; i < 5; i++)
                for (int j = 0; j < 5; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void conv2d_3_13(const float in[restrict 15][15], const float w[restrict 3][3], float out[restrict 13][13])
{
    for (int y = 0; y < 13; y++)
        for (int x = 0; x < 13; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void conv2d_3_64(const float in[restrict 66][66], const float w[restrict 3][3], float out[restrict 64][64])
{
    for (int y = 0; y < 64; y++)
        for (int x = 0; x < 64; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void conv2d_5_60(const float in[restrict 64][64], const float w[restrict 5][5], float out[restrict 60][60])
{
    for (int y = 0; y < 60; y++)
        for (int x = 0; x < 60; x++) {
            float sum = 0;
            for (int i = 0; i < 5; i++)
                for (int j = 0; j < 5; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void conv2d_7_93(const float in[restrict 99][99], const float w[restrict 7][7], float out[restrict 93][93])
{
    for (int y = 0; y < 93; y++)
        for (int x = 0; x < 93; x++) {
            float sum = 0;
            for (int i = 0; i < 7; i++)
                for (int j = 0; j < 7; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void matmul_4(const float a[restrict 4][4], const float b[restrict 4][4], float c[restrict 4][4])
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            float sum = 0;
            for (int k = 0; k < 4; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void matmul_8(const float a[restrict 8][8], const float b[restrict 8][8], float c[restrict 8][8])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            float sum = 0;
            for (int k = 0; k < 8; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void matmul_9(const float a[restrict 7][9], const float b[restrict 9][11], float c[restrict 7][11])
{
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 11; j++) {
            float sum = 0;
            for (int k = 0; k < 9; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void matmul_32(const float a[restrict 32][32], const float b[restrict 32][32], float c[restrict 32][32])
{
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++) {
            float sum = 0;
            for (int k = 0; k < 32; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void matmul_50(const float a[restrict 50][70], const float b[restrict 70][90], float c[restrict 50][90])
{
    for (int i = 0; i < 50; i++)
        for (int j = 0; j < 90; j++) {
            float sum = 0;
            for (int k = 0; k < 70; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void matmul_96(const float a[restrict 96][96], const float b[restrict 96][96], float c[restrict 96][96])
{
    for (int i = 0; i < 96; i++)
        for (int j = 0; j < 96; j++) {
            float sum = 0;
            for (int k = 0; k < 96; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

/* A transform of radix 2 after Stockham: in each stage x and y change places. */
void fft_16(const float wr[restrict 4][8], const float wi[restrict 4][8], float xr[restrict 16], float xi[restrict 16],
            float yr[restrict 16], float yi[restrict 16])
{
    for (int p = 0; p < 8; p++)
        for (int q = 0; q < 1; q++) {
            float ar = xr[q + p], ai = xi[q + p], br = xr[q + p + 8], bi = xi[q + p + 8];
            yr[q + 2 * p] = ar + br;
            yi[q + 2 * p] = ai + bi;
            yr[q + 2 * p + 1] = (ar - br) * wr[0][p] - (ai - bi) * wi[0][p];
            yi[q + 2 * p + 1] = (ar - br) * wi[0][p] + (ai - bi) * wr[0][p];
        }
    for (int p = 0; p < 4; p++)
        for (int q = 0; q < 2; q++) {
            float ar = yr[q + 2 * p], ai = yi[q + 2 * p], br = yr[q + 2 * p + 8], bi = yi[q + 2 * p + 8];
            xr[q + 4 * p] = ar + br;
            xi[q + 4 * p] = ai + bi;
            xr[q + 4 * p + 2] = (ar - br) * wr[1][p] - (ai - bi) * wi[1][p];
            xi[q + 4 * p + 2] = (ar - br) * wi[1][p] + (ai - bi) * wr[1][p];
        }
    for (int p = 0; p < 2; p++)
        for (int q = 0; q < 4; q++) {
            float ar = xr[q + 4 * p], ai = xi[q + 4 * p], br = xr[q + 4 * p + 8], bi = xi[q + 4 * p + 8];
            yr[q + 8 * p] = ar + br;
            yi[q + 8 * p] = ai + bi;
            yr[q + 8 * p + 4] = (ar - br) * wr[2][p] - (ai - bi) * wi[2][p];
            yi[q + 8 * p + 4] = (ar - br) * wi[2][p] + (ai - bi) * wr[2][p];
        }
    for (int q = 0; q < 8; q++) {
        float ar = yr[q], ai = yi[q], br = yr[q + 8], bi = yi[q + 8];
        xr[q] = ar + br;
        xi[q] = ai + bi;
        xr[q + 8] = ar - br;
        xi[q + 8] = ai - bi;
    }
}

/* One pass of radix 4 after Stockham over blocks of 64 neighbours, 1024 points. */
void fft4_pass_1024(const float w[restrict 6][4], const float xr[restrict 1024], const float xi[restrict 1024],
                    float yr[restrict 1024], float yi[restrict 1024])
{
    for (int p = 0; p < 4; p++)
        for (int q = 0; q < 64; q++) {
            float ar = xr[q + 64 * p], ai = xi[q + 64 * p], br = xr[q + 64 * p + 256], bi = xi[q + 64 * p + 256];
            float cr = xr[q + 64 * p + 512], ci = xi[q + 64 * p + 512], dr = xr[q + 64 * p + 768],
                  di = xi[q + 64 * p + 768];
            float er = ar + cr, ei = ai + ci, fr = ar - cr, fi = ai - ci;
            float gr = br + dr, gi = bi + di, hr = bi - di, hi = dr - br;
            yr[q + 256 * p] = er + gr;
            yi[q + 256 * p] = ei + gi;
            yr[q + 256 * p + 64] = (fr + hr) * w[0][p] - (fi + hi) * w[1][p];
            yi[q + 256 * p + 64] = (fr + hr) * w[1][p] + (fi + hi) * w[0][p];
            yr[q + 256 * p + 128] = (er - gr) * w[2][p] - (ei - gi) * w[3][p];
            yi[q + 256 * p + 128] = (er - gr) * w[3][p] + (ei - gi) * w[2][p];
            yr[q + 256 * p + 192] = (fr - hr) * w[4][p] - (fi - hi) * w[5][p];
            yi[q + 256 * p + 192] = (fr - hr) * w[5][p] + (fi - hi) * w[4][p];
        }
}

/* The last passes of radix 2 of 64 signals of 64 points side by side. */
void fft_batch_64(const float wr[restrict 32], const float wi[restrict 32], const float xr[restrict 64][64],
                  const float xi[restrict 64][64], float yr[restrict 64][64], float yi[restrict 64][64])
{
    for (int p = 0; p < 32; p++)
        for (int s = 0; s < 64; s++) {
            float ar = xr[p][s], ai = xi[p][s], br = xr[p + 32][s], bi = xi[p + 32][s];
            yr[2 * p][s] = ar + br;
            yi[2 * p][s] = ai + bi;
            yr[2 * p + 1][s] = (ar - br) * wr[p] - (ai - bi) * wi[p];
            yi[2 * p + 1][s] = (ar - br) * wi[p] + (ai - bi) * wr[p];
        }
}
