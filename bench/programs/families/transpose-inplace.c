#include <stdint.h>
void flip(int n, double (*a)[n])
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
    {
        double t = a[i][j];
        a[i][j] = a[j][i];
        a[j][i] = t;
    }
}

void flip_lower(int32_t *m, int size)
{
    for (int r = 1; r < size; r++)
        for (int c = 0; c < r; c++)
    {
        int32_t keep = m[(r * size) + c];
        m[(r * size) + c] = m[(c * size) + r];
        m[(c * size) + r] = keep;
    }
}

void flip_fixed(float w[256][256])
{
    for (int c = 0; c < 256; c++)
        for (int r = 0; r < c; r++)
    {
        float x = w[r][c];
        w[r][c] = w[c][r];
        w[c][r] = x;
    }
}

void turn(int n, float *a)
{
    for (int i = 0; i < (n - 1); i++)
        for (int j = i + 1; j < n; j++)
    {
        float t = a[(i * n) + j];
        a[(i * n) + j] = a[(j * n) + i];
        a[(j * n) + i] = t;
    }
}

void turn_part(int n, int ld, double *p)
{
    for (int c = 0; c < n; c++)
        for (int r = c + 1; r < n; r++)
    {
        double u = p[(r * ld) + c];
        double v = p[(c * ld) + r];
        p[(r * ld) + c] = v;
        p[(c * ld) + r] = u;
    }
}

void turn_all(int k, int n, double (*m)[n][n])
{
    for (int b = 0; b < k; b++)
        for (int i = 1; i < n; i++)
        for (int j = 0; j < i; j++)
    {
        double t = m[b][i][j];
        m[b][i][j] = m[b][j][i];
        m[b][j][i] = t;
    }
}

void turn_ints(unsigned n, unsigned *a)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = i + 1; j < n; j++)
    {
        unsigned t = a[(i * n) + j];
        a[(i * n) + j] = a[(j * n) + i];
        a[(j * n) + i] = t;
    }
}
