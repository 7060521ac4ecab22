/* Each row by its greatest element, to the exponential, by its sum.
 * sizes: m=5 n=7 */
#include <math.h>

void softmax(int m, int n, float x[16][16], float y[16][16])
{
    for (int i = 0; i < m; i++) {
        float top = x[i][0], sum = 0;
        for (int j = 1; j < n; j++)
            top = fmaxf(top, x[i][j]);
        for (int j = 0; j < n; j++) {
            y[i][j] = expf(x[i][j] - top); /*= softmax x -> y: */
            sum += y[i][j];
        }
        for (int j = 0; j < n; j++)
            y[i][j] /= sum;
    }
}
