void jacobi(int steps, float a[1000][1000], float b[1000][1000])
{
    for (int s = 0; s < steps; s++)
    {
        for (int i = 1; i < 999; i++)
            for (int j = 1; j < 999; j++)
            b[i][j] = .2f * ((((a[i][j] + a[i - 1][j]) + a[i + 1][j]) + a[i][j - 1]) + a[i][j + 1]);

        for (int i = 1; i < 999; i++)
            for (int j = 1; j < 999; j++)
            a[i][j] = b[i][j];
    }
}

void diffuse(int t, int n, float (*u)[n], float (*v)[n], float k)
{
    for (int r = 0; r < t; r++)
    {
        for (int y = 1; y < (n - 1); y++)
            for (int x = 1; x < (n - 1); x++)
            v[y][x] = u[y][x] + (k * ((((u[y - 1][x] + u[y + 1][x]) + u[y][x - 1]) + u[y][x + 1]) - (4 * u[y][x])));

        for (int y = 1; y < (n - 1); y++)
            for (int x = 1; x < (n - 1); x++)
            u[y][x] = v[y][x] + (k * ((((v[y - 1][x] + v[y + 1][x]) + v[y][x - 1]) + v[y][x + 1]) - (4 * v[y][x])));
    }
}

void blur3(int reps, int d, int h, int w, double (*p)[h][w], double (*q)[h][w])
{
    for (int s = 0; s < reps; s++)
    {
        for (int z = 1; z < (d - 1); z++)
            for (int y = 1; y < (h - 1); y++)
            for (int x = 1; x < (w - 1); x++)
            q[z][y][x] = (((((p[z - 1][y][x] + p[z + 1][y][x]) + p[z][y - 1][x]) + p[z][y + 1][x]) + p[z][y][x - 1]) + p[z][y][x + 1]) / 6;

        for (int z = 1; z < (d - 1); z++)
            for (int y = 1; y < (h - 1); y++)
            for (int x = 1; x < (w - 1); x++)
            p[z][y][x] = q[z][y][x];
    }
}
