/* The product of two vectors.
 * sizes: n=9 */
float dot(int n, const float *x, const float *y)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i]; /*= dot x y -> sum: i,i-> beta=0 */
    return sum;
}
