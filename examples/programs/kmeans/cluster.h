/* The steps of k-means on float data in rows. */
#ifndef CLUSTER_H
#define CLUSTER_H

/* distance[i][c]: the square of the distance from point i to centre c. */
void measure(int points, int centres, int dims, const float *x, const float *centre, float *distance);

/* nearest[i]: the centre with the least distance; the sum of these distances is given back. */
double assign(int points, int centres, const float *distance, int *nearest);

/* Each centre becomes the mean of its points; an empty one stays. */
void move(int points, int centres, int dims, const float *x, const int *nearest, float *centre, float *sum,
          int *count);

#endif
