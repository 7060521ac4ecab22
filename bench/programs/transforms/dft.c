/* The discrete Fourier transform of SIZE complex numbers, from its definition, for each of some rows. */

#include <math.h>

void dft(int rows, const float x[rows][SIZE][2], float y[rows][SIZE][2]) {
  for (int i = 0; i < rows; i++)
    for (int k = 0; k < SIZE; k++) {
      float re = 0, im = 0;
      for (int n = 0; n < SIZE; n++) {
        double angle = -2 * M_PI * (k * n % SIZE) / SIZE;
        float c = (float)cos(angle), s = (float)sin(angle);
        re += c * x[i][n][0] - s * x[i][n][1];
        im += s * x[i][n][0] + c * x[i][n][1];
      }
      y[i][k][0] = re;
      y[i][k][1] = im;
    }
}
