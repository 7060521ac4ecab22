/* The length of a vector.
 * sizes: n=9 */
#include <math.h>

double nrm2(int n, const double *x)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * x[i]; /*= nrm2 x -> s: */
    return sqrt(s);
}
