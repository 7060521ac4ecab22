/* A filter along a signal.
 * sizes: n=20 taps=5 */
void conv1d(int n, int taps, const float *x, const float *h, float *y)
{
    for (int i = 0; i < n; i++) {
        float acc = 0;
        for (int t = 0; t < taps; t++)
            acc += h[t] * x[i + t]; /*= conv1d x h -> y: beta=0 */
        y[i] = acc;
    }
}
