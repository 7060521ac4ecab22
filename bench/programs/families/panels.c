#include <math.h>
void mgs(int m, int n, double a[m][n], double r[n][n], double q[m][n])
{
    for (int k = 0; k < n; k++)
    {
        double s = 0;
        for (int i = 0; i < m; i++)
            s += a[i][k] * a[i][k];

        r[k][k] = sqrt(s);
        for (int i = 0; i < m; i++)
            q[i][k] = a[i][k] / r[k][k];

        for (int j = k + 1; j < n; j++)
        {
            r[k][j] = 0;
            for (int i = 0; i < m; i++)
                r[k][j] += q[i][k] * a[i][j];

            for (int i = 0; i < m; i++)
                a[i][j] -= q[i][k] * r[k][j];
        }
    }
}

void gs_classic(int rows, int cols, double (*a)[cols], double (*r)[cols])
{
    for (int j = 0; j < cols; j++)
    {
        double s = 0;
        for (int i = 0; i < rows; i++)
            s += a[i][j] * a[i][j];

        s = sqrt(s);
        r[j][j] = s;
        for (int i = 0; i < rows; i++)
            a[i][j] /= s;

        for (int k = j + 1; k < cols; k++)
        {
            double d = 0;
            for (int i = 0; i < rows; i++)
                d += a[i][j] * a[i][k];

            r[j][k] = d;
            for (int i = 0; i < rows; i++)
                a[i][k] -= d * a[i][j];
        }
    }
}

int plu(int n, double a[n][n], int *piv)
{
    for (int k = 0; k < n; k++)
    {
        int p = k;
        double big = fabs(a[k][k]);
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i][k]) > big)
        {
            big = fabs(a[i][k]);
            p = i;
        }

        piv[k] = p;
        if (big == 0)
            return k + 1;
        if (p != k)
            for (int j = 0; j < n; j++)
        {
            double t = a[k][j];
            a[k][j] = a[p][j];
            a[p][j] = t;
        }

        for (int i = k + 1; i < n; i++)
        {
            a[i][k] /= a[k][k];
            for (int j = k + 1; j < n; j++)
                a[i][j] -= a[i][k] * a[k][j];
        }
    }

    return 0;
}

void factorise(float *m, int size, int *swap)
{
    for (int c = 0; c < size; c++)
    {
        int best = c;
        for (int r = c + 1; r < size; r++)
            if (fabsf(m[(r * size) + c]) > fabsf(m[(best * size) + c]))
            best = r;

        swap[c] = best;
        if (best != c)
            for (int j = 0; j < size; j++)
        {
            float t = m[(c * size) + j];
            m[(c * size) + j] = m[(best * size) + j];
            m[(best * size) + j] = t;
        }

        for (int r = c + 1; r < size; r++)
        {
            float f = m[(r * size) + c] / m[(c * size) + c];
            m[(r * size) + c] = f;
            for (int j = c + 1; j < size; j++)
                m[(r * size) + j] -= f * m[(c * size) + j];
        }
    }
}

void qr(int m, int n, double a[m][n], double *tau)
{
    for (int k = 0; k < n; k++)
    {
        double s = 0;
        for (int i = k; i < m; i++)
            s += a[i][k] * a[i][k];

        s = sqrt(s);
        if (a[k][k] > 0)
            s = -s;
        double v = a[k][k] - s;
        for (int i = k + 1; i < m; i++)
            a[i][k] /= v;

        tau[k] = (-v) / s;
        a[k][k] = s;
        for (int j = k + 1; j < n; j++)
        {
            double d = a[k][j];
            for (int i = k + 1; i < m; i++)
                d += a[i][k] * a[i][j];

            d *= tau[k];
            a[k][j] -= d;
            for (int i = k + 1; i < m; i++)
                a[i][j] -= d * a[i][k];
        }
    }
}

void orthonormal(int rows, int cols, float (*v)[cols], float (*r)[cols])
{
    for (int k = 0; k < cols; k++)
    {
        float s = 0;
        for (int i = 0; i < rows; i++)
            s += v[i][k] * v[i][k];

        r[k][k] = sqrtf(s);
        for (int i = 0; i < rows; i++)
            v[i][k] /= r[k][k];

        for (int j = k + 1; j < cols; j++)
        {
            float d = 0;
            for (int i = 0; i < rows; i++)
                d += v[i][k] * v[i][j];

            r[k][j] = d;
            for (int i = 0; i < rows; i++)
                v[i][j] -= d * v[i][k];
        }
    }
}
