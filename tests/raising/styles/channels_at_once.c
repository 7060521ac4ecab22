/* A bias for each channel and what is positive of the sum, one loop over all of it.
 * sizes: n=2 c=3 h=4 w=5 */
void bias_relu(int n, int c, int h, int w, const float *bias, float *x)
{
    for (int t = 0; t < n * c * h * w; t++) {
        float v = x[t] + bias[t / (h * w) % c];
        x[t] = v > 0 ? v : 0; /*= elementwise x bias -> x: */
    }
}
