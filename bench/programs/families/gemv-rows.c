void matvec(int m, int n, const float a[m][n], const float *x, float * restrict y)
{
    for (int i = 0; i < m; i++)
    {
        float s = 0;
        for (int j = 0; j < n; j++)
            s += a[i][j] * x[j];

        y[i] = s;
    }
}

void row_norms(int rows, int cols, const double *p, double * restrict norm)
{
    for (int r = 0; r < rows; r++)
    {
        norm[r] = 0;
        for (int c = 0; c < cols; c++)
            norm[r] += p[(r * cols) + c] * p[(r * cols) + c];
    }
}

void projected(int k, int d, const float *w, const float *x, float * restrict out, const float *bias)
{
    for (int i = 0; i < k; i++)
    {
        float s = bias[i];
        for (int j = 0; j < d; j++)
            s += w[(i * d) + j] * x[j];

        out[i] = s;
    }
}

void similarity(long items, int dim, const double * restrict emb, const double * restrict q, double * restrict sim)
{
    const double *row = emb;
    for (long it = 0; it < items; ++it, row += dim)
    {
        double acc = 0.0;
        for (int d = 0; d < dim; ++d)
            acc += row[d] * q[d];

        sim[it] = acc;
    }
}

void two_matrices(int n, double alpha, double beta, const double a[n][n], const double b[n][n], const double *x, double * restrict y)
{
    for (int i = 0; i < n; i++)
    {
        double t = 0;
        double u = 0;
        for (int j = 0; j < n; j++)
        {
            t += a[i][j] * x[j];
            u += b[i][j] * x[j];
        }

        y[i] = (alpha * t) + (beta * u);
    }
}
