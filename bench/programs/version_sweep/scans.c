/* Alignments and chains: words of bytes, rows in one array, costs as parameters, the other way round, peaks; sums that
 * grow, and that fade. */
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

void distance(int n, int m, const unsigned char *restrict a, const unsigned char *restrict b, int *restrict d)
{
    for (int i = 0; i <= n; i++)
        d[i * (m + 1)] = i;
    for (int j = 0; j <= m; j++)
        d[j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int best = d[(i - 1) * (m + 1) + j - 1] + (a[i - 1] != b[j - 1]);
            best = MIN(best, d[(i - 1) * (m + 1) + j] + 1);
            best = MIN(best, d[i * (m + 1) + j - 1] + 1);
            d[i * (m + 1) + j] = best;
        }
}

int smith(int n, int m, int gap, int match, short *restrict a, short *restrict b, int H[restrict n + 1][m + 1])
{
    int most = 0;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int up = H[i - 1][j] - gap, left = H[i][j - 1] - gap;
            int best = H[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? match : -match);
            if (best < 0)
                best = 0;
            if (best < up)
                best = up;
            if (best < left)
                best = left;
            H[i][j] = best;
            if (best > most)
                most = best;
        }
    return most;
}

void affine(int n, int m, const signed char *restrict a, const signed char *restrict b, int H[restrict n + 1][m + 1],
            int E[restrict n + 1][m + 1], int F[restrict n + 1][m + 1])
{
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            E[i][j] = MAX(E[i][j - 1] - 2, H[i][j - 1] - 7);
            F[i][j] = MAX(F[i - 1][j] - 2, H[i - 1][j] - 7);
            int s = a[i - 1] == b[j - 1] ? 5 : -4;
            H[i][j] = MAX(MAX(0, H[i - 1][j - 1] + s), MAX(E[i][j], F[i][j]));
        }
}

void backwards(int n, int *restrict x, const int *restrict y)
{
    for (int j = n - 2; j >= 0; j--)
        x[j] = MIN(y[j], x[j + 1] + 3);
}

int envelope(int n, const short *restrict x, int *restrict y)
{
    int level = -40000;
    for (int i = 0; i < n; i++) {
        level = level - 7 > x[i] ? level - 7 : x[i];
        y[i] = level;
    }
    return level;
}

void sampled(int n, const unsigned char *restrict x, unsigned char *restrict y)
{
    int held = 0;
    for (int i = 0; i < n; i++) {
        held = MAX(x[i], held - 2);
        y[i] = (unsigned char)held;
    }
}

void prefix(int n, const float *restrict x, float *restrict y)
{
    y[0] = x[0];
    for (int i = 1; i < n; i++)
        y[i] = y[i - 1] + x[i];
}

void fading(int n, double keep, const double *restrict x, double *restrict y)
{
    for (int i = n - 2; i >= 0; i--)
        y[i] = keep * y[i + 1] + (1 - keep) * x[i];
}
