/* k-means on points that are scattered around centres which the program does not know. */
#include <stdio.h>
#include <stdlib.h>

#include "cluster.h"

#define POINTS 30000
#define CENTRES 64
#define DIMS 96
#define ROUNDS 15

static unsigned state = 1;

/* A number from 0 to 1, the same ones in every run. */
static float draw(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 16777216.0f;
}

int main(void)
{
    float *x = malloc(sizeof(float) * POINTS * DIMS);
    float *centre = malloc(sizeof(float) * CENTRES * DIMS);
    float *truth = malloc(sizeof(float) * CENTRES * DIMS);
    float *distance = malloc(sizeof(float) * POINTS * CENTRES);
    float *sum = malloc(sizeof(float) * CENTRES * DIMS);
    int *nearest = malloc(sizeof(int) * POINTS);
    int *count = malloc(sizeof(int) * CENTRES);
    double total = 0;

    if (!x || !centre || !truth || !distance || !sum || !nearest || !count)
        return 1;
    for (int t = 0; t < CENTRES * DIMS; t++)
        truth[t] = 4 * draw();
    for (int i = 0; i < POINTS; i++)
        for (int d = 0; d < DIMS; d++)
            x[i * DIMS + d] = truth[i % CENTRES * DIMS + d] + 1.5f * (draw() + draw() - 1);
    /* The first centres are points that lie far apart in the data. */
    for (int c = 0; c < CENTRES; c++)
        for (int d = 0; d < DIMS; d++)
            centre[c * DIMS + d] = x[c * (POINTS / CENTRES) * DIMS + d];

    for (int round = 0; round < ROUNDS; round++) {
        measure(POINTS, CENTRES, DIMS, x, centre, distance);
        total = assign(POINTS, CENTRES, distance, nearest);
        move(POINTS, CENTRES, DIMS, x, nearest, centre, sum, count);
        printf("round %2d: mean square distance %.2f\n", round + 1, total / POINTS);
    }
    for (int c = 0; c < CENTRES; c += 8)
        printf("centre %2d: %d points, first coordinate %.2f\n", c, count[c], centre[c * DIMS]);
    free(x);
    free(centre);
    free(truth);
    free(distance);
    free(sum);
    free(nearest);
    free(count);
    return 0;
}
