/* Kernels whose arrays do not fit the memories near the units: they are worked on in blocks. */

void axpy_500001(float a, const float x[restrict 500001], float y[restrict 500001])
{
    for (int i = 0; i < 500001; i++)
        y[i] += a * x[i];
}

void matmul_512(const float a[restrict 512][512], const float b[restrict 512][512], float c[restrict 512][512])
{
    for (int i = 0; i < 512; i++)
        for (int j = 0; j < 512; j++) {
            float sum = 0;
            for (int k = 0; k < 512; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void matmul_517(const float a[restrict 517][259], const float b[restrict 259][131], float c[restrict 517][131])
{
    for (int i = 0; i < 517; i++)
        for (int j = 0; j < 131; j++) {
            float sum = 0;
            for (int k = 0; k < 259; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void matmul_301(const float a[restrict 301][301], const float b[restrict 301][301], float c[restrict 301][301])
{
    for (int i = 0; i < 301; i++)
        for (int j = 0; j < 301; j++) {
            float sum = 0;
            for (int k = 0; k < 301; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void conv2d_3_512(const float in[restrict 514][514], const float w[restrict 3][3], float out[restrict 512][512])
{
    for (int y = 0; y < 512; y++)
        for (int x = 0; x < 512; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void conv2d_5_401(const float in[restrict 405][405], const float w[restrict 5][5], float out[restrict 401][401])
{
    for (int y = 0; y < 401; y++)
        for (int x = 0; x < 401; x++) {
            float sum = 0;
            for (int i = 0; i < 5; i++)
                for (int j = 0; j < 5; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void conv2d_7_640(const float in[restrict 366][646], const float w[restrict 7][7], float out[restrict 360][640])
{
    for (int y = 0; y < 360; y++)
        for (int x = 0; x < 640; x++) {
            float sum = 0;
            for (int i = 0; i < 7; i++)
                for (int j = 0; j < 7; j++)
                    sum += w[i][j] * in[y + i][x + j];
            out[y][x] = sum;
        }
}

void autocor_300000(const float x[restrict 300100], float r[restrict 100])
{
    for (int k = 0; k < 100; k++) {
        float sum = 0;
        for (int i = 0; i < 300000; i++)
            sum += x[i] * x[i + k];
        r[k] = sum;
    }
}

void autocor_262144(const float x[restrict 262160], float r[restrict 16])
{
    for (int k = 0; k < 16; k++) {
        float sum = 0;
        for (int i = 0; i < 262144; i++)
            sum += x[i] * x[i + k];
        r[k] = sum;
    }
}

void autocor_40001(const float x[restrict 40101], float r[restrict 33])
{
    for (int k = 0; k < 33; k++) {
        float sum = 0;
        for (int i = 0; i < 40001; i++)
            sum += x[i] * x[i + k];
        r[k] = sum;
    }
}

void matvec_1500(const float a[restrict 1500][701], const float x[restrict 701], float y[restrict 1500])
{
    for (int i = 0; i < 1500; i++) {
        float sum = 0;
        for (int j = 0; j < 701; j++)
            sum += a[i][j] * x[j];
        y[i] = sum;
    }
}

void fir_200000(const float x[restrict 200031], const float h[restrict 32], float y[restrict 200000])
{
    for (int i = 0; i < 200000; i++) {
        float sum = 0;
        for (int k = 0; k < 32; k++)
            sum += h[k] * x[i + k];
        y[i] = sum;
    }
}

void jacobi_701(const float a[restrict 701][701], float b[restrict 701][701])
{
    for (int i = 1; i < 700; i++)
        for (int j = 1; j < 700; j++)
            b[i][j] = 0.25f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}

/* One stage of a transform of 64 points, of many signals at once: complex numbers in two arrays. */
void fft_stage_5000(const float wr[restrict 32], const float wi[restrict 32], const float xr[restrict 64][5000],
                    const float xi[restrict 64][5000], float yr[restrict 64][5000], float yi[restrict 64][5000])
{
    for (int p = 0; p < 32; p++)
        for (int s = 0; s < 5000; s++) {
            yr[2 * p][s] = xr[p][s] + xr[p + 32][s];
            yi[2 * p][s] = xi[p][s] + xi[p + 32][s];
            yr[2 * p + 1][s] = wr[p] * (xr[p][s] - xr[p + 32][s]) - wi[p] * (xi[p][s] - xi[p + 32][s]);
            yi[2 * p + 1][s] = wr[p] * (xi[p][s] - xi[p + 32][s]) + wi[p] * (xr[p][s] - xr[p + 32][s]);
        }
}
