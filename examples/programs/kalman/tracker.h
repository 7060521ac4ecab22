/* A Kalman filter; matrices in rows of elements, n numbers in the state, m in a measurement. */
#ifndef TRACKER_H
#define TRACKER_H

/* x = F x and P = F P F' + Q; `t` holds n, `T` n x n numbers. */
void predict(int n, const double *F, const double *Q, double *x, double *P, double *t, double *T);

/* S = H P H' + R and G = P H', which is n x m. */
void innovate(int n, int m, const double *H, const double *R, const double *P, double *G, double *S);

/* S becomes its Cholesky factor L, lower triangle. */
void factorise(int m, double *S);

/* Gain = G / (L L'), row by row of G, in place. */
void solve(int n, int m, const double *L, double *G);

/* x += Gain (z - H x) and P -= Gain H P; `r` holds m, `T` m x n numbers. */
void correct(int n, int m, const double *gain, const double *H, const double *z, double *x, double *P, double *r,
             double *T);

#endif
