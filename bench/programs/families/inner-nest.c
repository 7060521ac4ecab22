void blocks8(int nb, const float *in, float * restrict out, const float c[8][8])
{
    for (int b = 0; b < nb; b++)
        for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
    {
        float s = 0;
        for (int k = 0; k < 8; k++)
            s += c[i][k] * in[((b * 64) + (k * 8)) + j];

        out[((b * 64) + (i * 8)) + j] = s;
    }
}

void rotate8(int n, const float (*x)[8], const float m[8][8], float (* restrict y)[8])
{
    for (int p = 0; p < n; p++)
        for (int r = 0; r < 8; r++)
    {
        float s = 0;
        for (int c = 0; c < 8; c++)
            s += m[r][c] * x[p][c];

        y[p][r] = s;
    }
}

void rows16(int n, const double *in, const double k[16][16], double * restrict out)
{
    for (int b = 0; b < n; b++)
        for (int u = 0; u < 16; u++)
        for (int v = 0; v < 16; v++)
    {
        double t = 0;
        for (int q = 0; q < 16; q++)
            t += in[(((b * 16) + u) * 16) + q] * k[q][v];

        out[(((b * 16) + u) * 16) + v] = t;
    }
}

void dct_blocks(int nb, float (*img)[8][8], const float c[8][8])
{
    for (int b = 0; b < nb; b++)
    {
        float t[8][8];
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++)
        {
            t[i][j] = 0;
            for (int k = 0; k < 8; k++)
                t[i][j] += img[b][i][k] * c[j][k];
        }

        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++)
        {
            float s = 0;
            for (int k = 0; k < 8; k++)
                s += c[i][k] * t[k][j];

            img[b][i][j] = s;
        }
    }
}
