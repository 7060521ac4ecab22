/* x = a x, every second element.
 * sizes: n=9 */
void scal(int n, double a, double x[64])
{
    for (int i = 0; i < 2 * n; i += 2)
        x[i] *= a; /*= scal x -> x: alpha=a */
}
