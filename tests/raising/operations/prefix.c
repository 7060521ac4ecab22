/* Sums of all beginnings of a vector.
 * sizes: n=9 */
void prefix(int n, const double *x, double *s)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i];
        s[i] = sum; /*= prefix x -> s: */
    }
}
