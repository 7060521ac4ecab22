/* A dot product in four sums.
 * sizes: n=11 */
double dot(int n, const double *x, const double *y)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int i;

    for (i = 0; i + 4 <= n; i += 4) {
        s0 += x[i] * y[i]; /*= dot x y -> s0: i,i-> beta=0 */
        s1 += x[i + 1] * y[i + 1];
        s2 += x[i + 2] * y[i + 2];
        s3 += x[i + 3] * y[i + 3];
    }
    for (; i < n; i++)
        s0 += x[i] * y[i];
    return s0 + s1 + s2 + s3;
}
