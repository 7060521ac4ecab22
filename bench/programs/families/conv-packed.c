#include <stdint.h>
void conv_u8(const uint8_t x[34][34][16], const int8_t k[3][3][16][32], int32_t y[32][32][32])
{
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++)
        for (int o = 0; o < 32; o++)
    {
        int32_t s = 0;
        for (int r = 0; r < 3; r++)
            for (int q = 0; q < 3; q++)
            for (int c = 0; c < 16; c++)
            s += x[i + r][j + q][c] * k[r][q][c][o];

        y[i][j][o] = s;
    }
}

void quantised(int h, int w, const uint8_t (*in)[w + 4][8], const int8_t (*f)[5][5][8], int (* restrict out)[w][64])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
        for (int o = 0; o < 64; o++)
    {
        out[y][x][o] = 0;
        for (int v = 0; v < 5; v++)
            for (int u = 0; u < 5; u++)
            for (int c = 0; c < 8; c++)
            out[y][x][o] += f[o][v][u][c] * in[y + v][x + u][c];
    }
}

void pointwise(int h, int w, int ci, int co, const uint8_t (*x)[w][ci], const int8_t (*k)[co], int32_t (* restrict y)[w][co])
{
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
        for (int o = 0; o < co; o++)
    {
        int32_t s = 0;
        for (int c = 0; c < ci; c++)
            s += x[i][j][c] * k[c][o];

        y[i][j][o] = s;
    }
}

void conv_planes(const uint8_t in[12][66][66], const int8_t w[24][12][3][3], int32_t out[24][64][64])
{
    for (int o = 0; o < 24; o++)
        for (int y = 0; y < 64; y++)
        for (int x = 0; x < 64; x++)
    {
        int32_t a = 0;
        for (int c = 0; c < 12; c++)
            for (int v = 0; v < 3; v++)
            for (int u = 0; u < 3; u++)
            a += ((int32_t) in[c][y + v][x + u]) * w[o][c][v][u];

        out[o][y][x] = a;
    }
}
