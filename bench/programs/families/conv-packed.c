#include <stdint.h>
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

void batched(int nb, int ci, int h, int w, int co, const uint8_t (*x)[ci][h + 4][w + 4], const int8_t (*k)[ci][5][5], int32_t (* restrict y)[co][h][w])
{
    for (int b = 0; b < nb; b++)
        for (int o = 0; o < co; o++)
        for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
    {
        y[b][o][i][j] = 0;
        for (int c = 0; c < ci; c++)
            for (int r = 0; r < 5; r++)
            for (int q = 0; q < 5; q++)
            y[b][o][i][j] += x[b][c][i + r][j + q] * k[o][c][r][q];
    }
}

void strided(const uint8_t image[16][65][65], const int8_t weight[32][16][3][3], int32_t acc[32][32][32])
{
    for (int f = 0; f < 32; f++)
        for (int y = 0; y < 32; y++)
        for (int x = 0; x < 32; x++)
    {
        int32_t s = 0;
        for (int c = 0; c < 16; c++)
            for (int v = 0; v < 3; v++)
            for (int u = 0; u < 3; u++)
            s += weight[f][c][v][u] * image[c][(2 * y) + v][(2 * x) + u];

        acc[f][y][x] = s;
    }
}
