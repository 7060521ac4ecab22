/* The 21 kernels that Diospyros was evaluated with: products of matrices, full two-dimensional convolutions, a product of
   quaternions with translations, and QR by Householder's reflections. */
#include <math.h>

void mm_2_2_2(const float a[restrict 2][2], const float b[restrict 2][2], float c[restrict 2][2])
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            float sum = 0;
            for (int k = 0; k < 2; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void mm_2_3_3(const float a[restrict 2][3], const float b[restrict 3][3], float c[restrict 2][3])
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) {
            float sum = 0;
            for (int k = 0; k < 3; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void mm_3_3_3(const float a[restrict 3][3], const float b[restrict 3][3], float c[restrict 3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            float sum = 0;
            for (int k = 0; k < 3; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void mm_4_4_4(const float a[restrict 4][4], const float b[restrict 4][4], float c[restrict 4][4])
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            float sum = 0;
            for (int k = 0; k < 4; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void mm_8_8_8(const float a[restrict 8][8], const float b[restrict 8][8], float c[restrict 8][8])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            float sum = 0;
            for (int k = 0; k < 8; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void mm_10_10_10(const float a[restrict 10][10], const float b[restrict 10][10], float c[restrict 10][10])
{
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) {
            float sum = 0;
            for (int k = 0; k < 10; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void mm_16_16_16(const float a[restrict 16][16], const float b[restrict 16][16], float c[restrict 16][16])
{
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            float sum = 0;
            for (int k = 0; k < 16; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void conv_3_3_2(const float in[restrict 3][3], const float w[restrict 2][2], float out[restrict 4][4])
{
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) {
            float sum = 0;
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    if (y - i >= 0 && y - i < 3 && x - j >= 0 && x - j < 3)
                        sum += w[i][j] * in[y - i][x - j];
            out[y][x] = sum;
        }
}

void conv_3_3_3(const float in[restrict 3][3], const float w[restrict 3][3], float out[restrict 5][5])
{
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 5; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    if (y - i >= 0 && y - i < 3 && x - j >= 0 && x - j < 3)
                        sum += w[i][j] * in[y - i][x - j];
            out[y][x] = sum;
        }
}

void conv_3_5_3(const float in[restrict 3][5], const float w[restrict 3][3], float out[restrict 5][7])
{
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 7; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    if (y - i >= 0 && y - i < 3 && x - j >= 0 && x - j < 5)
                        sum += w[i][j] * in[y - i][x - j];
            out[y][x] = sum;
        }
}

void conv_4_4_3(const float in[restrict 4][4], const float w[restrict 3][3], float out[restrict 6][6])
{
    for (int y = 0; y < 6; y++)
        for (int x = 0; x < 6; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    if (y - i >= 0 && y - i < 4 && x - j >= 0 && x - j < 4)
                        sum += w[i][j] * in[y - i][x - j];
            out[y][x] = sum;
        }
}

void conv_8_8_3(const float in[restrict 8][8], const float w[restrict 3][3], float out[restrict 10][10])
{
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 10; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    if (y - i >= 0 && y - i < 8 && x - j >= 0 && x - j < 8)
                        sum += w[i][j] * in[y - i][x - j];
            out[y][x] = sum;
        }
}

void conv_10_10_2(const float in[restrict 10][10], const float w[restrict 2][2], float out[restrict 11][11])
{
    for (int y = 0; y < 11; y++)
        for (int x = 0; x < 11; x++) {
            float sum = 0;
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    if (y - i >= 0 && y - i < 10 && x - j >= 0 && x - j < 10)
                        sum += w[i][j] * in[y - i][x - j];
            out[y][x] = sum;
        }
}

void conv_10_10_3(const float in[restrict 10][10], const float w[restrict 3][3], float out[restrict 12][12])
{
    for (int y = 0; y < 12; y++)
        for (int x = 0; x < 12; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    if (y - i >= 0 && y - i < 10 && x - j >= 0 && x - j < 10)
                        sum += w[i][j] * in[y - i][x - j];
            out[y][x] = sum;
        }
}

void conv_10_10_4(const float in[restrict 10][10], const float w[restrict 4][4], float out[restrict 13][13])
{
    for (int y = 0; y < 13; y++)
        for (int x = 0; x < 13; x++) {
            float sum = 0;
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    if (y - i >= 0 && y - i < 10 && x - j >= 0 && x - j < 10)
                        sum += w[i][j] * in[y - i][x - j];
            out[y][x] = sum;
        }
}

void conv_16_16_2(const float in[restrict 16][16], const float w[restrict 2][2], float out[restrict 17][17])
{
    for (int y = 0; y < 17; y++)
        for (int x = 0; x < 17; x++) {
            float sum = 0;
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    if (y - i >= 0 && y - i < 16 && x - j >= 0 && x - j < 16)
                        sum += w[i][j] * in[y - i][x - j];
            out[y][x] = sum;
        }
}

void conv_16_16_3(const float in[restrict 16][16], const float w[restrict 3][3], float out[restrict 18][18])
{
    for (int y = 0; y < 18; y++)
        for (int x = 0; x < 18; x++) {
            float sum = 0;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    if (y - i >= 0 && y - i < 16 && x - j >= 0 && x - j < 16)
                        sum += w[i][j] * in[y - i][x - j];
            out[y][x] = sum;
        }
}

void conv_16_16_4(const float in[restrict 16][16], const float w[restrict 4][4], float out[restrict 19][19])
{
    for (int y = 0; y < 19; y++)
        for (int x = 0; x < 19; x++) {
            float sum = 0;
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    if (y - i >= 0 && y - i < 16 && x - j >= 0 && x - j < 16)
                        sum += w[i][j] * in[y - i][x - j];
            out[y][x] = sum;
        }
}

/* Rotations as quaternions (w, x, y, z), and translations: q = a b, t = A + a B. */
void qprod(const float a[restrict 4], const float s[restrict 3], const float b[restrict 4], const float t[restrict 3],
           float q[restrict 4], float r[restrict 3])
{
    for (int n = 0; n < 1; n++) {
        float u0 = 2 * (a[2] * t[2] - a[3] * t[1]), u1 = 2 * (a[3] * t[0] - a[1] * t[2]),
              u2 = 2 * (a[1] * t[1] - a[2] * t[0]);
        q[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
        q[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
        q[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
        q[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
        r[0] = s[0] + t[0] + a[0] * u0 + a[2] * u2 - a[3] * u1;
        r[1] = s[1] + t[1] + a[0] * u1 + a[3] * u0 - a[1] * u2;
        r[2] = s[2] + t[2] + a[0] * u2 + a[1] * u1 - a[2] * u0;
    }
}

/* a becomes R; the columns of v are the reflections. */
void qr_3(float a[restrict 3][3], float v[restrict 3][3])
{
    for (int k = 0; k < 2; k++) {
        float sum = 0;
        for (int i = k; i < 3; i++)
            sum += a[i][k] * a[i][k];
        float norm = sqrtf(sum);
        float alpha = a[k][k] > 0 ? -norm : norm;
        for (int i = k; i < 3; i++)
            v[i][k] = a[i][k];
        v[k][k] -= alpha;
        float whole = 0;
        for (int i = k; i < 3; i++)
            whole += v[i][k] * v[i][k];
        float scale = 2 / whole;
        for (int j = k; j < 3; j++) {
            float dot = 0;
            for (int i = k; i < 3; i++)
                dot += v[i][k] * a[i][j];
            for (int i = k; i < 3; i++)
                a[i][j] -= scale * dot * v[i][k];
        }
    }
}

/* a becomes R; the columns of v are the reflections. */
void qr_4(float a[restrict 4][4], float v[restrict 4][4])
{
    for (int k = 0; k < 3; k++) {
        float sum = 0;
        for (int i = k; i < 4; i++)
            sum += a[i][k] * a[i][k];
        float norm = sqrtf(sum);
        float alpha = a[k][k] > 0 ? -norm : norm;
        for (int i = k; i < 4; i++)
            v[i][k] = a[i][k];
        v[k][k] -= alpha;
        float whole = 0;
        for (int i = k; i < 4; i++)
            whole += v[i][k] * v[i][k];
        float scale = 2 / whole;
        for (int j = k; j < 4; j++) {
            float dot = 0;
            for (int i = k; i < 4; i++)
                dot += v[i][k] * a[i][j];
            for (int i = k; i < 4; i++)
                a[i][j] -= scale * dot * v[i][k];
        }
    }
}
