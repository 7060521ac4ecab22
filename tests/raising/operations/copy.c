/* y = x.
 * sizes: n=9 */
void copy(int n, const float *x, float *y)
{
    for (int i = 0; i < n; i++)
        *y++ = *x++; /*= copy x -> y: */
}
