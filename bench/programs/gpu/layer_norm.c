/* Each row less its mean, by its standard deviation. */
#include <math.h>

void layer_norm(int n, int m, float eps, const float x[n][m], float y[restrict n][m])
{
  for (int i = 0; i < n; i++) {
    float sum = 0;
    for (int j = 0; j < m; j++)
      sum += x[i][j];
    float mean = sum / m;
    float squares = 0;
    for (int j = 0; j < m; j++)
      squares += (x[i][j] - mean) * (x[i][j] - mean);
    float scale = 1.0f / sqrtf(squares / m + eps);
    for (int j = 0; j < m; j++)
      y[i][j] = (x[i][j] - mean) * scale;
  }
}
