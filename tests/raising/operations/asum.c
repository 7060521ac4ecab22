/* The sum of magnitudes.
 * sizes: n=9 */
#include <math.h>

double asum(int n, const double *x)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += fabs(x[i]); /*= asum x -> s: beta=0 */
    return s;
}
