/* The steps of k-means, each as the loops that one writes down first. */
#include "cluster.h"

void measure(int points, int centres, int dims, const float *x, const float *centre, float *distance)
{
    for (int i = 0; i < points; i++)
        for (int c = 0; c < centres; c++) {
            float xx = 0, cc = 0, xc = 0;
            for (int d = 0; d < dims; d++) {
                xx += x[i * dims + d] * x[i * dims + d];
                cc += centre[c * dims + d] * centre[c * dims + d];
                xc += x[i * dims + d] * centre[c * dims + d];
            }
            distance[i * centres + c] = xx - 2 * xc + cc;
        }
}

double assign(int points, int centres, const float *distance, int *nearest)
{
    double total = 0;
    for (int i = 0; i < points; i++) {
        int best = 0;
        float least = distance[i * centres];
        for (int c = 1; c < centres; c++)
            if (distance[i * centres + c] < least) {
                least = distance[i * centres + c];
                best = c;
            }
        nearest[i] = best;
        total += least;
    }
    return total;
}

void move(int points, int centres, int dims, const float *x, const int *nearest, float *centre, float *sum,
          int *count)
{
    for (int c = 0; c < centres; c++) {
        count[c] = 0;
        for (int d = 0; d < dims; d++)
            sum[c * dims + d] = 0;
    }
    for (int i = 0; i < points; i++) {
        count[nearest[i]] += 1;
        for (int d = 0; d < dims; d++)
            sum[nearest[i] * dims + d] += x[i * dims + d];
    }
    for (int c = 0; c < centres; c++)
        if (count[c] > 0)
            for (int d = 0; d < dims; d++)
                centre[c * dims + d] = sum[c * dims + d] / count[c];
}
