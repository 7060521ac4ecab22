#include <stdint.h>

/*
 * Quantised matrix-vector product: int8 weights (rows x cols) times an int8
 * vector, accumulated in 32 bits from bias, scaled by mult / 2^shift
 * (shift >= 1, rounding half up) and saturated to int8.
 */
void quantised_dot(const int8_t *restrict w, const int8_t *restrict x,
                   const int32_t *restrict bias, int8_t *restrict y,
                   int rows, int cols, int32_t mult, int shift)
{
    const int64_t half = (int64_t)1 << (shift - 1);
    int r, c;

    for (r = 0; r < rows; r++) {
        int32_t acc = bias[r];
        int64_t q;

        for (c = 0; c < cols; c++)
            acc += (int32_t)w[r * cols + c] * (int32_t)x[c];

        q = ((int64_t)acc * mult + half) >> shift;
        y[r] = (int8_t)(q > 127 ? 127 : q < -128 ? -128 : q);
    }
}
