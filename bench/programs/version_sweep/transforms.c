/* Fourier and cosine transforms by their definition: doubles, the way back, a batch, halves. */
#include <math.h>
#define PI 3.14159265358979323846

void back(const double re[restrict 48], const double im[restrict 48], double x[restrict 48], double y[restrict 48])
{
    for (int n = 0; n < 48; n++) {
        x[n] = 0.0;
        y[n] = 0.0;
        for (int k = 0; k < 48; k++) {
            double a = 2.0 * PI * n * k / 48;
            x[n] += (re[k] * cos(a) - im[k] * sin(a)) / 48;
            y[n] += (re[k] * sin(a) + im[k] * cos(a)) / 48;
        }
    }
}

void batch(int m, const float x[restrict m][30], float y[restrict m][16][2])
{
    for (int b = 0; b < m; b++)
        for (int k = 0; k <= 15; k++) {
            y[b][k][0] = 0.0f;
            y[b][k][1] = 0.0f;
            for (int n = 0; n < 30; n++) {
                double a = -2.0 * PI * ((n * k) % 30) / 30;
                y[b][k][0] += x[b][n] * (float)cos(a);
                y[b][k][1] += x[b][n] * (float)sin(a);
            }
        }
}

void cosines(int m, double x[restrict m][16], double y[restrict m][16])
{
    for (int b = 0; b < m; b++)
        for (int k = 0; k < 16; k++) {
            double s = 0.0;
            for (int n = 0; n < 16; n++)
                s += x[b][n] * cos(PI * (2 * n + 1) * k / 32);
            y[b][k] = s * (k == 0 ? sqrt(1.0 / 16) : sqrt(2.0 / 16));
        }
}
