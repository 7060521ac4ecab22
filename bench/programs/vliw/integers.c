/* Kernels of signal processing in whole numbers, in plain C: what Hexagon is for. */

int dot(int n, const int *restrict x, const int *restrict y)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

int dot_16(int n, const short *restrict x, const short *restrict y)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

void saxpy(int n, int a, const int *restrict x, int *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}

void window_16(int n, const short *restrict w, short *restrict x)
{
    for (int i = 0; i < n; i++)
        x[i] = (short)(x[i] * w[i]);
}

void fir(int n, int taps, const int *restrict x, const int *restrict h, int *restrict y)
{
    for (int i = 0; i < n; i++) {
        int sum = 0;
        for (int k = 0; k < taps; k++)
            sum += h[k] * x[i + k];
        y[i] = sum;
    }
}

void fir_8(int n, const short *restrict x, const short h[restrict 8], short *restrict y)
{
    for (int i = 0; i < n; i++) {
        int sum = 0;
        for (int k = 0; k < 8; k++)
            sum += h[k] * x[i + k];
        y[i] = (short)(sum >> 8);
    }
}

void autocor(int n, int lags, const int *restrict x, int *restrict r)
{
    for (int k = 0; k < lags; k++) {
        int sum = 0;
        for (int i = 0; i < n; i++)
            sum += x[i] * x[i + k];
        r[k] = sum;
    }
}

void stencil(int n, const int *restrict x, int *restrict y)
{
    for (int i = 1; i < n - 1; i++)
        y[i] = x[i - 1] + 2 * x[i] + x[i + 1];
}

int largest(int n, const int *restrict x)
{
    int most = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > most)
            most = x[i];
    return most;
}

void matmul_8(const int a[restrict 8][8], const int b[restrict 8][8], int c[restrict 8][8])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            int sum = 0;
            for (int k = 0; k < 8; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void matmul_32(const int a[restrict 32][32], const int b[restrict 32][32], int c[restrict 32][32])
{
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++) {
            int sum = 0;
            for (int k = 0; k < 32; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void matvec(int m, int n, const int *restrict A, const int *restrict x, int *restrict y)
{
    for (int i = 0; i < m; i++) {
        int sum = 0;
        for (int j = 0; j < n; j++)
            sum += A[i * n + j] * x[j];
        y[i] = sum;
    }
}

void conv2d_3(const int x[restrict 34][66], const int k[restrict 3][3], int y[restrict 32][64])
{
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 64; j++) {
            int sum = 0;
            for (int p = 0; p < 3; p++)
                for (int q = 0; q < 3; q++)
                    sum += k[p][q] * x[i + p][j + q];
            y[i][j] = sum;
        }
}

void clamp_8(int n, unsigned char low, unsigned char high, const unsigned char *restrict x, unsigned char *restrict y)
{
    for (int i = 0; i < n; i++) {
        unsigned char v = x[i] < low ? low : x[i];
        y[i] = v > high ? high : v;
    }
}

int sad_8(int n, const unsigned char *restrict x, const unsigned char *restrict y)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] > y[i] ? x[i] - y[i] : y[i] - x[i];
    return sum;
}

void blend_8(int n, const unsigned char *restrict x, const unsigned char *restrict y, unsigned char *restrict z)
{
    for (int i = 0; i < n; i++)
        z[i] = (unsigned char)((x[i] + y[i] + 1) >> 1);
}

void xor_32(int n, unsigned key, const unsigned *restrict x, unsigned *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = (x[i] ^ key) + (x[i] >> 3);
}

void running_sum(int n, const int *restrict x, int *restrict y)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i];
        y[i] = sum;
    }
}

void complex_multiply(int n, const int *restrict a, const int *restrict b, int *restrict c)
{
    for (int i = 0; i < n; i++) {
        c[2 * i] = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
        c[2 * i + 1] = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
    }
}

void biquad(int n, const int c[restrict 5], const int *restrict x, int *restrict y, int s[restrict 2])
{
    int w1 = s[0], w2 = s[1];
    for (int i = 0; i < n; i++) {
        int w = x[i] - ((c[3] * w1 + c[4] * w2) >> 8);
        y[i] = (c[0] * w + c[1] * w1 + c[2] * w2) >> 8;
        w2 = w1;
        w1 = w;
    }
    s[0] = w1;
    s[1] = w2;
}
