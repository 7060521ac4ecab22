/* Loops in the order that memory does not like, with values between them, and tables with long rows. */

void exchanged(int m, int n, int s, float *restrict a, float *restrict b, const float *restrict w)
{
    for (int j = 0; j < n; j++) {
        float c = w[j * s];
        for (int t = 0; t < m; t++) {
            float x = a[t * n + j], y = b[t * n + j];
            a[t * n + j] = x + y * c;
            b[t * n + j] = x - y * c;
        }
    }
}

void rotated(int m, int n, double A[restrict m][n], double B[restrict m][n], double w[restrict n][2])
{
    for (int j = 0; j < n; j++)
        for (int t = 0; t < m; t++) {
            double re = A[t][j] * w[j][0] - B[t][j] * w[j][1], im = A[t][j] * w[j][1] + B[t][j] * w[j][0];
            A[t][j] = re;
            B[t][j] = im;
        }
}

void looked_up(int m, int n, short x[restrict m][n], const short *restrict table, int s)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            short v = x[i][j];
            x[i][j] = (short)(v + table[j * s]);
        }
}
