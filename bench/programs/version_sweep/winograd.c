/* Windows of three by three: the order that the tiles are made for, others, an image with a border, doubles. */

void last(int h, int w, int c, int k, const float *restrict in, const float *restrict weights, float *restrict out)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int f = 0; f < k; f++) {
                float sum = 0.0f;
                for (int p = 0; p < c; p++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            sum += in[((y + r) * (w + 2) + x + s) * c + p] * weights[((r * 3 + s) * c + p) * k + f];
                out[(y * w + x) * k + f] = sum;
            }
}

void first(int h, int w, int c, int k, float in[restrict c][h + 2][w + 2], float weights[restrict k][c][3][3],
           float out[restrict k][h][w])
{
    for (int f = 0; f < k; f++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                out[f][y][x] = 0.0f;
                for (int p = 0; p < c; p++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            out[f][y][x] += in[p][y + r][x + s] * weights[f][p][r][s];
            }
}

void padded(int h, int w, int c, int k, float in[restrict h][w][c], float weights[restrict 3][3][c][k],
            const float bias[restrict k], float out[restrict h][w][k])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int f = 0; f < k; f++) {
                float sum = bias[f];
                for (int r = 0; r < 3; r++)
                    for (int s = 0; s < 3; s++) {
                        int u = y + r - 1, v = x + s - 1;
                        if (u >= 0 && u < h && v >= 0 && v < w)
                            for (int p = 0; p < c; p++)
                                sum += in[u][v][p] * weights[r][s][p][f];
                    }
                out[y][x][f] = sum > 0.0f ? sum : 0.0f;
            }
}

void wide(int b, int h, int w, int c, int k, double in[restrict b][h + 2][w + 2][c],
          double weights[restrict 3][3][c][k], double out[restrict b][h][w][k])
{
    for (int n = 0; n < b; n++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                for (int f = 0; f < k; f++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            for (int p = 0; p < c; p++)
                                out[n][y][x][f] += in[n][y + r][x + s][p] * weights[r][s][p][f];
}
