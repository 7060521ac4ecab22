/* The sizes of a chain of 4 matrices, N0 x N1 times N1 x N2 and so on. */
#ifndef CHAIN4_H
#define CHAIN4_H

#define N0 500
#define N1 600
#define N2 550
#define N3 640
#define N4 60

/* out = A B C D */
void chain4(double A[N0][N1], double B[N1][N2], double C[N2][N3], double D[N3][N4], double out[N0][N4]);

#endif
