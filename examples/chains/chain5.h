/* The sizes of a chain of 5 matrices, N0 x N1 times N1 x N2 and so on. */
#ifndef CHAIN5_H
#define CHAIN5_H

#define N0 480
#define N1 560
#define N2 45
#define N3 520
#define N4 600
#define N5 500

/* out = A B C D E */
void chain5(double A[N0][N1], double B[N1][N2], double C[N2][N3], double D[N3][N4], double E[N4][N5],
            double out[N0][N5]);

#endif
