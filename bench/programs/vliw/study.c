/* The kernels with which machines of other widths and numbers of units are compared. */

void autocor(const float x[restrict 160], float r[restrict 32])
{
    for (int k = 0; k < 32; k++) {
        float sum = 0;
        for (int i = 0; i < 128; i++)
            sum += x[i] * x[i + k];
        r[k] = sum;
    }
}

void fft_stage(const float wr[restrict 4], const float wi[restrict 4], const float xr[restrict 8][64],
               const float xi[restrict 8][64], float yr[restrict 8][64], float yi[restrict 8][64])
{
    for (int p = 0; p < 4; p++)
        for (int s = 0; s < 64; s++) {
            yr[2 * p][s] = xr[p][s] + xr[p + 4][s];
            yi[2 * p][s] = xi[p][s] + xi[p + 4][s];
            yr[2 * p + 1][s] = wr[p] * (xr[p][s] - xr[p + 4][s]) - wi[p] * (xi[p][s] - xi[p + 4][s]);
            yi[2 * p + 1][s] = wr[p] * (xi[p][s] - xi[p + 4][s]) + wi[p] * (xr[p][s] - xr[p + 4][s]);
        }
}

void conv2d(const float in[restrict 14][66], const float w[restrict 3][3], float out[restrict 12][64])
{
    for (int y = 0; y < 12; y++)
        for (int x = 0; x < 64; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void matmul(const float a[restrict 8][64], const float b[restrict 64][96], float c[restrict 8][96])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 96; j++) {
            float sum = 0;
            for (int k = 0; k < 64; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}
