/* y += a x.
 * sizes: n=9 */
void axpy(int n, double a, const double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] += a * x[i]; /*= axpy x -> y: i->i alpha=a */
}
