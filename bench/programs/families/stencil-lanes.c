void heat_line(int steps, int n, double *a, double *b)
{
    for (int t = 0; t < steps; t++)
    {
        for (int i = 1; i < (n - 1); i++)
            b[i] = ((0.25 * a[i - 1]) + (0.5 * a[i])) + (0.25 * a[i + 1]);

        for (int i = 1; i < (n - 1); i++)
            a[i] = b[i];
    }
}

void jac(int T, int N, float * restrict u, float * restrict v)
{
    for (int t = 0; t < T; t++)
    {
        for (int i = 1; i < (N - 1); i++)
            v[i] = ((u[i - 1] + u[i]) + u[i + 1]) / 3.0f;

        for (int i = 1; i < (N - 1); i++)
            u[i] = ((v[i - 1] + v[i]) + v[i + 1]) / 3.0f;
    }
}

void seidel_line(int sweeps, int n, double *x)
{
    for (int s = 0; s < sweeps; s++)
        for (int i = 1; i < (n - 1); i++)
        x[i] = ((x[i - 1] + x[i]) + x[i + 1]) / 3.0;
}

void smooth5(int reps, int n, float *p, float *q)
{
    for (int r = 0; r < reps; r++)
    {
        for (int i = 2; i < (n - 2); i++)
            q[i] = .2f * ((((p[i - 2] + p[i - 1]) + p[i]) + p[i + 1]) + p[i + 2]);

        for (int i = 2; i < (n - 2); i++)
            p[i] = q[i];
    }
}

void wave(int steps, int n, double *u, double *w, double c)
{
    for (int s = 0; s < steps; s++)
    {
        for (int j = 1; j < (n - 1); j++)
            w[j] = u[j] + (c * ((u[j + 1] - (2 * u[j])) + u[j - 1]));

        for (int j = 1; j < (n - 1); j++)
            u[j] = w[j];
    }
}
