/* Transforms as books have them: of one length, with sizes that are halved at the head of a loop, in while loops. */
#define N 2048
#define LOG2N 11

void transform(double *restrict re, double *restrict im, const double *restrict wr, const double *restrict wi)
{
    for (int i = 1, j = 0; i < N; i++) {
        int bit = N >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double t = re[i];
            re[i] = re[j];
            re[j] = t;
            t = im[i];
            im[i] = im[j];
            im[j] = t;
        }
    }
    for (int s = 1; s <= LOG2N; s++) {
        int m = 1 << s, h = m >> 1, step = N >> s;
        for (int k = 0; k < N; k += m)
            for (int j = 0; j < h; j++) {
                double c = wr[j * step], d = wi[j * step];
                double xr = re[k + j + h] * c - im[k + j + h] * d;
                double xi = re[k + j + h] * d + im[k + j + h] * c;
                re[k + j + h] = re[k + j] - xr;
                im[k + j + h] = im[k + j] - xi;
                re[k + j] += xr;
                im[k + j] += xi;
            }
    }
}

void pairs(float x[2 * N], const float w[N])
{
    for (int len = 2; len <= N; len <<= 1) {
        int half = len / 2, step = N / len;
        for (int k = 0; k < N; k += len)
            for (int j = 0; j < half; j++) {
                int a = k + j, b = k + j + half;
                float c = w[2 * j * step], d = w[2 * j * step + 1];
                float tr = x[2 * b] * c - x[2 * b + 1] * d, ti = x[2 * b] * d + x[2 * b + 1] * c;
                x[2 * b] = x[2 * a] - tr;
                x[2 * b + 1] = x[2 * a + 1] - ti;
                x[2 * a] += tr;
                x[2 * a + 1] += ti;
            }
    }
}

void frames(int n, short all[restrict n][N])
{
    for (int f = 0; f < n; f++)
        for (int h = N / 2; h > 0; h >>= 1)
            for (int i = 0; i < N; i += 2 * h)
                for (int j = i; j < i + h; j++) {
                    short x = all[f][j], y = all[f][j + h];
                    all[f][j] = x + y;
                    all[f][j + h] = x - y;
                }
}

void decimated(float *restrict x, float *restrict y, const float *restrict w, int n, int m)
{
    int n1, n2 = n, ie = 1, ia, i, j, k, l;
    for (k = 0; k < m; k++) {
        n1 = n2;
        n2 = n2 / 2;
        ia = 0;
        for (j = 0; j < n2; j++) {
            float c = w[ia], s = w[ia + n / 4];
            ia = ia + ie;
            for (i = j; i < n; i += n1) {
                float xt, yt;
                l = i + n2;
                xt = x[i] - x[l];
                x[i] = x[i] + x[l];
                yt = y[i] - y[l];
                y[i] = y[i] + y[l];
                x[l] = c * xt + s * yt;
                y[l] = c * yt - s * xt;
            }
        }
        ie = 2 * ie;
    }
}

void in_time(double *restrict x, const double *restrict w, int n)
{
    int half = 1, stride = n >> 1;
    while (stride > 0) {
        for (int g = 0; g < n; g += 2 * half)
            for (int b = 0; b < half; b++) {
                double t = x[g + b + half] * w[b * stride];
                x[g + b + half] = x[g + b] - t;
                x[g + b] += t;
            }
        half <<= 1;
        stride >>= 1;
    }
}
