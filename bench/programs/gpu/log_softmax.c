/* The logarithms of the softmax of each row, in place, with a leading dimension. */
#include <math.h>

void log_softmax(int rows, int cols, int ld, float *z)
{
  for (int r = 0; r < rows; r++) {
    float top = z[r * ld];
    for (int c = 1; c < cols; c++)
      top = fmaxf(z[r * ld + c], top);
    float total = 0;
    for (int c = 0; c < cols; c++)
      total += expf(z[r * ld + c] - top);
    float shift = top + logf(total);
    for (int c = 0; c < cols; c++)
      z[r * ld + c] -= shift;
  }
}
