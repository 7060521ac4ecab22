// --threads 2
void heat(int steps, int n, double (*a)[n], double (*b)[n])
{
    for (int s = 0; s < steps; s++)
    {
        for (int i = 1; i < (n - 1); i++)
            for (int j = 1; j < (n - 1); j++)
            b[i][j] = .2 * ((((a[i][j] + a[i - 1][j]) + a[i + 1][j]) + a[i][j - 1]) + a[i][j + 1]);

        for (int i = 1; i < (n - 1); i++)
            for (int j = 1; j < (n - 1); j++)
            a[i][j] = b[i][j];
    }
}

void gauss_seidel(int sweeps, int n, float (*u)[n])
{
    for (int k = 0; k < sweeps; k++)
        for (int i = 1; i < (n - 1); i++)
        for (int j = 1; j < (n - 1); j++)
        u[i][j] = ((((u[i - 1][j] + u[i][j - 1]) + u[i][j]) + u[i][j + 1]) + u[i + 1][j]) * .2f;
}

void box3d(int t, int n, double (*p)[n][n], double (*q)[n][n])
{
    for (int s = 0; s < t; s++)
    {
        for (int x = 1; x < (n - 1); x++)
            for (int y = 1; y < (n - 1); y++)
            for (int z = 1; z < (n - 1); z++)
            q[x][y][z] = (((((p[x - 1][y][z] + p[x + 1][y][z]) + p[x][y - 1][z]) + p[x][y + 1][z]) + p[x][y][z - 1]) + p[x][y][z + 1]) / 6;

        for (int x = 1; x < (n - 1); x++)
            for (int y = 1; y < (n - 1); y++)
            for (int z = 1; z < (n - 1); z++)
            p[x][y][z] = q[x][y][z];
    }
}
