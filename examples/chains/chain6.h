/* The sizes of a chain of 6 matrices, N0 x N1 times N1 x N2 and so on. */
#ifndef CHAIN6_H
#define CHAIN6_H

#define N0 420
#define N1 500
#define N2 460
#define N3 40
#define N4 480
#define N5 520
#define N6 60

/* out = A B C D E F */
void chain6(double A[N0][N1], double B[N1][N2], double C[N2][N3], double D[N3][N4], double E[N4][N5],
            double F[N5][N6], double out[N0][N6]);

#endif
