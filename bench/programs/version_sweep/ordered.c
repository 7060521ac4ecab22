/* Sums that keep their order in strict mode: over windows of two and three dimensions, of rows, of triangles. */

void window(int n, int m, int k, int l, double in[restrict n + k][m + l], double weights[restrict k][l],
            double out[restrict n][m])
{
    for (int y = 0; y < n; y++)
        for (int x = 0; x < m; x++) {
            double sum = 0;
            for (int r = 0; r < k; r++)
                for (int s = 0; s < l; s++)
                    sum += in[y + r][x + s] * weights[r][s];
            out[y][x] = sum;
        }
}

void volume(int d, int h, int w, float in[restrict d + 2][h + 4][w + 4], float weights[restrict 3][5][5],
            float out[restrict d][h][w])
{
    for (int z = 0; z < d; z++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                for (int p = 0; p < 3; p++)
                    for (int r = 0; r < 5; r++)
                        for (int s = 0; s < 5; s++)
                            out[z][y][x] += in[z + p][y + r][x + s] * weights[p][r][s];
}

void layer(int nf, int nc, int h, int w, float in[restrict nc][2 * h + 1][2 * w + 1],
           float weights[restrict nf][nc][3][3], float bias[restrict nf], float out[restrict nf][h][w])
{
    for (int f = 0; f < nf; f++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                float sum = bias[f];
                for (int c = 0; c < nc; c++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            sum += in[c][2 * y + r][2 * x + s] * weights[f][c][r][s];
                out[f][y][x] = sum > 0 ? sum : 0;
            }
}

void rows(int m, int n, int lda, const float *restrict a, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < m; i++) {
        float sum = 0;
        for (int j = 0; j < n; j++)
            sum += a[i * lda + j] * x[j];
        y[i] += sum;
    }
}

void both(int m, int n, double a[restrict m][n], const double *restrict p, const double *restrict r,
          double *restrict s, double *restrict q)
{
    for (int i = 0; i < m; i++) {
        q[i] = 0;
        for (int j = 0; j < n; j++) {
            s[j] += r[i] * a[i][j];
            q[i] += a[i][j] * p[j];
        }
    }
}

void lower(int n, double a[restrict n][n], const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            y[i] += a[i][j] * x[j];
}

void least(int m, int n, float a[restrict m][n], float *restrict y)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            if (a[i][j] < y[i])
                y[i] = a[i][j];
}

void solve(int n, double l[restrict n][n], const double *restrict b, double *restrict x)
{
    for (int i = 0; i < n; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= l[i][j] * x[j];
    }
}
