/* Principal components of data in rows, one observation each. */
#ifndef ANALYSIS_H
#define ANALYSIS_H

/* Take the mean of every column from it. */
void centre(int n, int d, double *x, double *mean);

/* cov = x' x / (n - 1), both triangles. */
void covariance(int n, int d, const double *x, double *cov);

/* w = cov v. */
void apply(int d, const double *cov, const double *v, double *w);

/* The length of w before it is made 1. */
double normalise(int d, double *w);

/* cov -= lambda v v'. */
void deflate(int d, double lambda, const double *v, double *cov);

/* y = x components', the data in terms of k components. */
void project(int n, int d, int k, const double *x, const double *components, double *y);

#endif
