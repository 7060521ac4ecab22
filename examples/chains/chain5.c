/* A product of 5 matrices, from left to right as it is written down. */
#include "chain5.h"

void chain5(double A[N0][N1], double B[N1][N2], double C[N2][N3], double D[N3][N4], double E[N4][N5],
            double out[N0][N5])
{
    double AB[N0][N2];
    double ABC[N0][N3];
    double ABCD[N0][N4];
    int i, j, k;

    for (i = 0; i < N0; i++)
        for (j = 0; j < N2; j++) {
            AB[i][j] = 0;
            for (k = 0; k < N1; k++)
                AB[i][j] += A[i][k] * B[k][j];
        }
    for (i = 0; i < N0; i++)
        for (j = 0; j < N3; j++) {
            ABC[i][j] = 0;
            for (k = 0; k < N2; k++)
                ABC[i][j] += AB[i][k] * C[k][j];
        }
    for (i = 0; i < N0; i++)
        for (j = 0; j < N4; j++) {
            ABCD[i][j] = 0;
            for (k = 0; k < N3; k++)
                ABCD[i][j] += ABC[i][k] * D[k][j];
        }
    for (i = 0; i < N0; i++)
        for (j = 0; j < N5; j++) {
            out[i][j] = 0;
            for (k = 0; k < N4; k++)
                out[i][j] += ABCD[i][k] * E[k][j];
        }
}
