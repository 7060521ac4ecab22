/* Sections that follow each other: second form, coefficients in rows, ladders, whole numbers, fixed in number. */

void second(int n, int m, const float *restrict x, float *restrict y, float c[restrict m][5], float z[restrict m][2])
{
    for (int t = 0; t < n; t++) {
        float s = x[t];
        for (int k = 0; k < m; k++) {
            float w = s - 0.1f * c[k][3] * z[k][0] - 0.1f * c[k][4] * z[k][1];
            s = c[k][0] * w + c[k][1] * z[k][0] + c[k][2] * z[k][1];
            z[k][1] = z[k][0];
            z[k][0] = w;
        }
        y[t] = s;
    }
}

void ladder(int n, int m, const double *restrict c, double *restrict z, double *restrict x)
{
    for (int t = 0; t < n; t++) {
        double f = x[t], g = x[t];
        for (int k = 0; k < m; k++) {
            double held = z[k];
            z[k] = g;
            g = held + 0.3 * c[k] * f;
            f = f + 0.3 * c[k] * held;
        }
        x[t] = f + g;
    }
}

void poles(int n, const double *restrict x, double *restrict y, double z[restrict 6], const double c[restrict 6])
{
    for (int t = 0; t < n; t++) {
        double s = x[t];
        for (int k = 0; k < 6; k++) {
            z[k] = z[k] + 0.5 * c[k] * (s - z[k]);
            s = z[k];
        }
        y[t] = s;
    }
}

void integrators(int n, int m, const int *restrict x, int *restrict y, unsigned *restrict z)
{
    for (int t = 0; t < n; t++) {
        unsigned s = (unsigned)x[t];
        for (int k = 0; k < m; k++) {
            z[k] += s;
            s = z[k];
        }
        y[t] = (int)s;
    }
}

void biquad(int n, const float *restrict x, float *restrict y, float b0, float b1, float b2, float a1, float a2)
{
    float x1 = 0.0f, x2 = 0.0f, y1 = 0.0f, y2 = 0.0f;
    for (int t = 0; t < n; t++) {
        float v = b0 * x[t] + b1 * x1 + b2 * x2 - 0.2f * a1 * y1 - 0.2f * a2 * y2;
        x2 = x1;
        x1 = x[t];
        y2 = y1;
        y1 = v;
        y[t] = v;
    }
}
