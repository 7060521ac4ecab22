/* The sum of products. */
#ifndef N
#define N 8000000
#endif

void dot(int n, double x[N], double y[N], double s[1])
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    s[0] = sum;
}
