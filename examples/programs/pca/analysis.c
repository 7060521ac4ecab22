/* The parts of a principal component analysis, written down loop by loop. */
#include <math.h>

#include "analysis.h"

void centre(int n, int d, double *x, double *mean)
{
    for (int j = 0; j < d; j++) {
        mean[j] = 0;
        for (int i = 0; i < n; i++)
            mean[j] += x[i * d + j];
        mean[j] /= n;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < d; j++)
            x[i * d + j] -= mean[j];
}

void covariance(int n, int d, const double *x, double *cov)
{
    for (int i = 0; i < d; i++)
        for (int j = i; j < d; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += x[k * d + i] * x[k * d + j];
            cov[i * d + j] = sum / (n - 1);
            cov[j * d + i] = cov[i * d + j];
        }
}

void apply(int d, const double *cov, const double *v, double *w)
{
    for (int i = 0; i < d; i++) {
        w[i] = 0;
        for (int j = 0; j < d; j++)
            w[i] += cov[i * d + j] * v[j];
    }
}

double normalise(int d, double *w)
{
    double length = 0;
    for (int i = 0; i < d; i++)
        length += w[i] * w[i];
    length = sqrt(length);
    for (int i = 0; i < d; i++)
        w[i] /= length;
    return length;
}

void deflate(int d, double lambda, const double *v, double *cov)
{
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++)
            cov[i * d + j] -= lambda * v[i] * v[j];
}

void project(int n, int d, int k, const double *x, const double *components, double *y)
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < k; c++) {
            y[i * k + c] = 0;
            for (int j = 0; j < d; j++)
                y[i * k + c] += x[i * d + j] * components[c * d + j];
        }
}
