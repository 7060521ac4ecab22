/* B = A transposed. */
#ifndef N
#define N 3000
#endif

void transpose(int n, double A[N][N], double B[N][N])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            B[j][i] = A[i][j];
}
