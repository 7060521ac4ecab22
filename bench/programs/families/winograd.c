void conv3(int h, int w, int ci, int co, const float (*x)[w + 2][ci], const float (*k)[3][ci][co], float (* restrict y)[w][co])
{
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
        for (int o = 0; o < co; o++)
    {
        float s = 0;
        for (int c = 0; c < ci; c++)
            for (int r = 0; r < 3; r++)
            for (int q = 0; q < 3; q++)
            s += x[i + r][j + q][c] * k[r][q][c][o];

        y[i][j][o] = s;
    }
}

void planes(int n, int m, int rows, int cols, const double (*in)[rows + 2][cols + 2], const double (*f)[n][3][3], double (* restrict out)[rows][cols])
{
    for (int o = 0; o < m; o++)
        for (int y = 0; y < rows; y++)
        for (int x = 0; x < cols; x++)
    {
        out[o][y][x] = 0;
        for (int c = 0; c < n; c++)
            for (int v = 0; v < 3; v++)
            for (int u = 0; u < 3; u++)
            out[o][y][x] += in[c][y + v][x + u] * f[o][c][v][u];
    }
}

void batch3(int nb, const float x[nb][34][34][16], const float k[3][3][16][32], float y[nb][32][32][32])
{
    for (int b = 0; b < nb; b++)
        for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++)
        for (int f = 0; f < 32; f++)
    {
        float s = 0;
        for (int p = 0; p < 3; p++)
            for (int q = 0; q < 3; q++)
            for (int c = 0; c < 16; c++)
            s += x[b][i + p][j + q][c] * k[p][q][c][f];

        y[b][i][j][f] = s;
    }
}
