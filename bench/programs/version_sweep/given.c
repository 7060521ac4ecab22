/* Windows and orders that are parameters, and small in most calls. */

void window(int h, int w, int k, int lda, const float *restrict in, const float *restrict g, float *restrict out)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float s = 0.0f;
            for (int i = 0; i < k; i++)
                for (int j = 0; j < k; j++)
                    s += in[(y + i) * lda + x + j] * g[i * k + j];
            out[y * w + x] = s;
        }
}

void most(int n, int k, const short *restrict x, short *restrict y)
{
    for (int i = 0; i < n; i++) {
        short m = x[i];
        for (int j = 1; j < k; j++)
            m = x[i + j] > m ? x[i + j] : m;
        y[i] = m;
    }
}

void polynomial(int n, int d, const double *restrict c, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++) {
        double s = c[0];
        for (int k = 1; k < d; k++)
            s = s * x[i] + c[k];
        y[i] = s;
    }
}
