/* Rows of numbers as shares of one, at a temperature at which few of them vanish. */
#include <math.h>
#ifndef M
#define M 4000
#define N 4000
#endif

void softmax(int m, int n, float x[M][N], float y[M][N])
{
    for (int i = 0; i < m; i++) {
        float most = x[i][0], sum = 0;
        for (int j = 1; j < n; j++)
            most = x[i][j] > most ? x[i][j] : most;
        for (int j = 0; j < n; j++) {
            y[i][j] = expf(0.01f * (x[i][j] - most));
            sum += y[i][j];
        }
        for (int j = 0; j < n; j++)
            y[i][j] /= sum;
    }
}
