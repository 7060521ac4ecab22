/* Where the first greatest element is.
 * sizes: n=9 */
int argmax(int n, const float *x)
{
    int best = 0;
    float top = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > top) {
            top = x[i];
            best = i; /*= argmax x -> best: */
        }
    return best;
}
