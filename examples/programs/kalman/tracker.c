/* A Kalman filter as its formulas say, each a few plain loops. */
#include <math.h>

#include "tracker.h"

void predict(int n, const double *F, const double *Q, double *x, double *P, double *t, double *T)
{
    for (int i = 0; i < n; i++) {
        t[i] = 0;
        for (int j = 0; j < n; j++)
            t[i] += F[i * n + j] * x[j];
    }
    for (int i = 0; i < n; i++)
        x[i] = t[i];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            T[i * n + j] = 0;
            for (int k = 0; k < n; k++)
                T[i * n + j] += F[i * n + k] * P[k * n + j];
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            P[i * n + j] = Q[i * n + j];
            for (int k = 0; k < n; k++)
                P[i * n + j] += T[i * n + k] * F[j * n + k];
        }
}

void innovate(int n, int m, const double *H, const double *R, const double *P, double *G, double *S)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += P[i * n + k] * H[j * n + k];
            G[i * m + j] = sum;
        }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += H[i * n + k] * G[k * m + j];
            S[i * m + j] = sum + R[i * m + j];
        }
}

void factorise(int m, double *S)
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                S[i * m + j] -= S[i * m + k] * S[j * m + k];
            S[i * m + j] /= S[j * m + j];
        }
        for (int k = 0; k < i; k++)
            S[i * m + i] -= S[i * m + k] * S[i * m + k];
        S[i * m + i] = sqrt(S[i * m + i]);
    }
}

void solve(int n, int m, const double *L, double *G)
{
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < m; i++) {
            for (int k = 0; k < i; k++)
                G[r * m + i] -= L[i * m + k] * G[r * m + k];
            G[r * m + i] /= L[i * m + i];
        }
        for (int i = m - 1; i >= 0; i--) {
            for (int k = i + 1; k < m; k++)
                G[r * m + i] -= L[k * m + i] * G[r * m + k];
            G[r * m + i] /= L[i * m + i];
        }
    }
}

void correct(int n, int m, const double *gain, const double *H, const double *z, double *x, double *P, double *r,
             double *T)
{
    for (int i = 0; i < m; i++) {
        r[i] = z[i];
        for (int j = 0; j < n; j++)
            r[i] -= H[i * n + j] * x[j];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            x[i] += gain[i * m + j] * r[j];
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            T[i * n + j] = 0;
            for (int k = 0; k < n; k++)
                T[i * n + j] += H[i * n + k] * P[k * n + j];
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < m; k++)
                P[i * n + j] -= gain[i * m + k] * T[k * n + j];
}
