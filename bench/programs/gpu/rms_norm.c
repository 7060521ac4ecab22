/* Rows of doubles by their root mean square, with a gain for each column. */
#include <math.h>

void rms_norm(int n, int m, const double gain[m], const double in[n][m], double out[restrict n][m])
{
  for (int row = 0; row < n; row++) {
    double squares = 0;
    for (int k = 0; k < m; k++)
      squares += in[row][k] * in[row][k];
    double scale = 1.0 / sqrt(squares / m + 1e-6);
    for (int k = 0; k < m; k++)
      out[row][k] = gain[k] * (in[row][k] * scale);
  }
}
