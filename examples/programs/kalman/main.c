/* Tracks many coupled oscillators of which only some sums are measured, with noise. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracker.h"

#define N 160
#define M 80
#define STEPS 180

static unsigned state = 3;

/* A number from -1 to 1, the same ones in every run. */
static double draw(void)
{
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / 8388608.0 - 1;
}

static double F[N * N], Q[N * N], P[N * N], H[M * N], R[M * M], G[N * M], S[M * M], T[N * N];
static double x[N], t[N], z[M], r[M], truth[N], next[N];

int main(void)
{
    double error = 0, blind = 0;

    /* Pairs of numbers turn around, each with a speed of its own, and pull at the next pair a little. */
    for (int i = 0; i < N; i += 2) {
        double angle = 0.05 + 0.002 * i;
        F[i * N + i] = F[(i + 1) * N + i + 1] = 0.995 * cos(angle);
        F[i * N + i + 1] = -0.995 * sin(angle);
        F[(i + 1) * N + i] = 0.995 * sin(angle);
        F[i * N + (i + 2) % N] += 0.01;
    }
    for (int i = 0; i < N; i++) {
        Q[i * N + i] = 1e-4;
        P[i * N + i] = 1;
        truth[i] = draw();
    }
    for (int i = 0; i < M; i++) {
        R[i * M + i] = 0.04;
        for (int j = 0; j < N; j++)
            H[i * N + j] = (i * 7 + j) % 5 == 0 ? draw() : 0;
    }

    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < N; i++) {
            next[i] = 0.01 * draw();
            for (int j = 0; j < N; j++)
                next[i] += F[i * N + j] * truth[j];
        }
        for (int i = 0; i < N; i++)
            truth[i] = next[i];
        for (int i = 0; i < M; i++) {
            z[i] = 0.2 * draw();
            for (int j = 0; j < N; j++)
                z[i] += H[i * N + j] * truth[j];
        }

        predict(N, F, Q, x, P, t, T);
        innovate(N, M, H, R, P, G, S);
        factorise(M, S);
        solve(N, M, S, G);
        correct(N, M, G, H, z, x, P, r, T);

        error = blind = 0;
        for (int i = 0; i < N; i++) {
            error += (x[i] - truth[i]) * (x[i] - truth[i]);
            blind += truth[i] * truth[i];
        }
        if (step % 18 == 0)
            printf("step %3d: error %.6f, of %.6f without the filter\n", step, sqrt(error / N), sqrt(blind / N));
    }
    for (int i = 0; i < N; i += 16)
        printf("x[%3d] = %9.6f, deviation %.6f\n", i, x[i], sqrt(P[i * N + i]));
    return 0;
}
