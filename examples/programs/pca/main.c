/* The principal components of data that vary along a few hidden directions, by power iteration. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis.h"

#define N 6000
#define D 500
#define K 8
#define ITERATIONS 150

static unsigned state = 7;

/* A number from -1 to 1, the same ones in every run. */
static double draw(void)
{
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / 8388608.0 - 1;
}

int main(void)
{
    double *x = malloc(sizeof(double) * N * D);
    double *hidden = malloc(sizeof(double) * K * D);
    double *mean = malloc(sizeof(double) * D);
    double *cov = malloc(sizeof(double) * D * D);
    double *components = malloc(sizeof(double) * K * D);
    double *w = malloc(sizeof(double) * D);
    double *y = malloc(sizeof(double) * N * K);

    if (!x || !hidden || !mean || !cov || !components || !w || !y)
        return 1;
    for (int t = 0; t < K * D; t++)
        hidden[t] = draw();
    for (int i = 0; i < N; i++) {
        double strength[K];
        for (int c = 0; c < K; c++)
            strength[c] = draw() * (K - c) * (K - c);
        for (int j = 0; j < D; j++) {
            x[i * D + j] = 3 + draw();
            for (int c = 0; c < K; c++)
                x[i * D + j] += strength[c] * hidden[c * D + j];
        }
    }

    centre(N, D, x, mean);
    covariance(N, D, x, cov);
    for (int c = 0; c < K; c++) {
        double *v = components + c * D, lambda = 0;
        for (int j = 0; j < D; j++)
            v[j] = 1.0 / (j + 1);
        normalise(D, v);
        for (int iteration = 0; iteration < ITERATIONS; iteration++) {
            apply(D, cov, v, w);
            lambda = normalise(D, w);
            for (int j = 0; j < D; j++)
                v[j] = w[j];
        }
        deflate(D, lambda, v, cov);
        printf("component %d: variance %.4f\n", c + 1, lambda);
    }
    project(N, D, K, x, components, y);
    for (int c = 0; c < K; c++) {
        double spread = 0;
        for (int i = 0; i < N; i++)
            spread += y[i * K + c] * y[i * K + c];
        printf("spread along component %d: %.4f\n", c + 1, sqrt(spread / (N - 1)));
    }
    free(x);
    free(hidden);
    free(mean);
    free(cov);
    free(components);
    free(w);
    free(y);
    return 0;
}
