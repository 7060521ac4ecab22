#include <stdint.h>
void rgb_scale(int n, const float px[n][3], const float gain[3], float out[n][3])
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
        out[i][c] = px[i][c] * gain[c];
}

void add_bias(int n, double *v, const double *b)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 4; k++)
        v[(4 * i) + k] += b[k];
}

void normals(int n, int32_t (*a)[5], const int32_t *o)
{
    for (int r = 0; r < n; r++)
        for (int j = 0; j < 5; j++)
        a[r][j] = a[r][j] - o[j];
}

void affine3(long n, const double (*p)[3], const double s[3], const double o[3], double (*q)[3])
{
    for (long i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
        q[i][k] = (s[k] * p[i][k]) + o[k];
}

void gains(int frames, float *pcm, const float *g)
{
    for (int f = 0; f < frames; f++)
        for (int ch = 0; ch < 2; ch++)
        pcm[(f * 2) + ch] *= g[ch];
}
