/* The softmax of each row. */
#include <math.h>

void softmax(int n, int m, const float x[n][m], float y[restrict n][m])
{
  for (int i = 0; i < n; i++) {
    float most = -INFINITY;
    for (int j = 0; j < m; j++)
      most = fmaxf(most, x[i][j]);
    float sum = 0;
    for (int j = 0; j < m; j++) {
      y[i][j] = expf(x[i][j] - most);
      sum += y[i][j];
    }
    for (int j = 0; j < m; j++)
      y[i][j] /= sum;
  }
}
